"""Horovod's object behind hvd.rank() and the like, for programs that make one themselves."""


class HorovodBasics:
    """Has what ronde.torch.mpi_ops has.

    >>> HorovodBasics().gloo_built()
    True
    """

    def __init__(self, pkg_path=None, *args):
        pass

    def __getattr__(self, name):
        from ronde.torch import mpi_ops

        return getattr(mpi_ops, name)
