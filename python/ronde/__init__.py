"""Ronde: training of deep networks on many processes, and where the time goes.

>>> import ronde.torch as hvd
>>> hvd.init()

`ronde.torch` has the interface of `horovod.torch`; `ronde.data` is the input pipeline, `ronde.trace` and
`ronde.report` tell where the time goes.
"""

__version__ = "0.1.0"
