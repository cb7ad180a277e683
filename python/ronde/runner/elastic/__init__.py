"""What programs import from `horovod.runner.elastic`."""
