"""What a program may ask for while something is on its way, and what ends its waits."""

# ruff: noqa: F821  (torch, hvd, rank and size are there on the ranks)

pytest_plugins = ["job_fixtures", "python_fixtures"]


def a_name_is_taken_until_the_program_could_see_its_result():
    import time

    def refused():
        try:
            hvd.allreduce_async(torch.ones(3), name="twice")
        except ValueError as error:
            assert "twice" in str(error) and "wait for it" in str(error)
            return True
        return False

    first = hvd.allreduce_async(torch.ones(3), name="twice")
    assert refused()
    time.sleep(0.5)  # done by now, however busy the others are; the program does not know
    assert refused()
    hvd.synchronize(first)
    hvd.allreduce_async(torch.ones(3), name="twice")  # thrown away
    assert refused()
    hvd.barrier()
    hvd.synchronize(hvd.allreduce_async(torch.ones(3), name="twice"))


def ctrl_c_is_felt_at_once():
    import os
    import signal
    import threading
    import time

    def interrupted(wait):
        threading.Timer(1, os.kill, [os.getpid(), signal.SIGINT]).start()
        begin = time.monotonic()
        try:
            wait()
        except KeyboardInterrupt:
            return time.monotonic() - begin
        raise AssertionError("it was not interrupted")

    late = 20  # seconds after which the other rank comes
    if rank == 0:
        # The signal comes after one second, and is looked for 20 times a second.
        assert interrupted(lambda: hvd.allreduce(torch.ones(3), name="late")) < 3
        handle = hvd.allreduce_async_(torch.ones(3), name="later")
        assert interrupted(lambda: hvd.synchronize(handle)) < 3
        assert interrupted(hvd.barrier) < 3
    else:
        time.sleep(late)
        hvd.allreduce(torch.ones(3), name="late")
        hvd.allreduce(torch.ones(3), name="later")
        hvd.barrier()
    hvd.barrier()  # what was interrupted has gone on


def test_names_that_are_in_flight_are_refused(on_ranks):
    on_ranks(2, a_name_is_taken_until_the_program_could_see_its_result)


def test_ctrl_c_ends_a_wait(on_ranks):
    on_ranks(2, ctrl_c_is_felt_at_once)
