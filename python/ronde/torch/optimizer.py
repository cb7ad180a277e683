"""Optimizers of torch.optim on many ranks. Gradients travel by hooks in C++; nothing here runs in a backward pass."""

import sys
import warnings
from collections.abc import Iterable
from contextlib import contextmanager

import torch

from ronde import _core
from ronde.common.process_sets import ProcessSet, global_process_set
from ronde.common.util import split_list
from ronde.torch.collectives import Adasum, Average, Max, _number, allreduce, grouped_allreduce_async_
from ronde.torch.compression import BF16Compressor, Compression, Compressor, FP16Compressor, NoneCompressor

_SCALERS = ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler")
_WIRE = {FP16Compressor: "fp16", BF16Compressor: "bf16"}


def _duplicates(names):
    seen, twice = set(), set()
    for name in names:
        (twice if name in seen else seen).add(name)
    return twice


def _named(param_groups, named_parameters):
    """Every parameter's name, by pairs. Raises ValueError where names are missing or twice."""
    if named_parameters is None:
        return [
            (f"allreduce.noname.{i}.{j}", parameter)
            for i, group in enumerate(param_groups)
            for j, parameter in enumerate(group["params"])
        ]
    named = list(named_parameters)
    if any(not isinstance(pair, tuple) for pair in named):
        raise ValueError("named_parameters must be a list of pairs (name, parameter), such as model.named_parameters()")
    twice = _duplicates(name for name, _ in named)
    if twice:
        raise ValueError(f"two parameters have the same name in named_parameters: {', '.join(sorted(twice))}")
    known = {id(parameter) for _, parameter in named}
    nameless = [
        f"number {j} of group {i}, shape {list(parameter.shape)}"
        for i, group in enumerate(param_groups)
        for j, parameter in enumerate(group["params"])
        if id(parameter) not in known
    ]
    if nameless:
        raise ValueError(f"named_parameters lacks parameters of the optimizer: {'; '.join(nameless)}")
    return named


def _checked_groups(groups):
    if groups is None or isinstance(groups, int):
        if groups is not None and groups <= 0:
            raise ValueError(f"groups must be a number above 0 or a list of lists of tensors, got {groups}")
        return groups
    if not isinstance(groups, list):
        raise ValueError("groups must be a number above 0 or a list of lists of tensors")
    seen = set()
    for parameter in (one for group in groups for one in group):
        if not isinstance(parameter, torch.Tensor):
            raise ValueError("groups must be lists of tensors")
        if id(parameter) in seen:
            raise ValueError("a parameter may be in only one of the groups")
        seen.add(id(parameter))
    return groups


def _take_over(self, optimizer):
    """Becomes the optimizer: its groups, state, defaults and whatever else it has, but for a step() that somebody (a
    scheduler) has put in place of its own. Of groups of parameters, which Horovod's classes take, a new one is made."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        super(self.__class__, self).__init__(optimizer)
        return
    vars(self).update({name: value for name, value in vars(optimizer).items() if name not in ("step", "zero_grad")})
    if hasattr(self, "_patch_step_function"):
        self._patch_step_function()


def _groups_for_scalers(prepare):
    """The property param_groups: a list. GradScaler looks at gradients there and nowhere else, after backward();
    before it does, prepare(self) is called."""

    def get(self):
        if sys._getframe(1).f_globals.get("__name__") in _SCALERS:
            prepare(self)
        return vars(self)["param_groups"]

    def put(self, groups):
        vars(self)["param_groups"] = groups

    return property(get, put)


class _DistributedOptimizer(torch.optim.Optimizer):
    """What DistributedOptimizer() adds to the class of the optimizer it is given."""

    def __init__(
        self,
        params,
        named_parameters,
        compression,
        backward_passes_per_step=1,
        op=Average,
        gradient_predivide_factor=1.0,
        groups=None,
        sparse_as_dense=False,
        process_set=global_process_set,
    ):
        _take_over(self, params)
        named = _named(self.param_groups, named_parameters)
        self._parameter_names = {parameter: name for name, parameter in named}
        self.backward_passes_per_step = backward_passes_per_step
        self.op = op
        self.gradient_predivide_factor = gradient_predivide_factor
        self.sparse_as_dense = sparse_as_dense
        self.process_set = process_set
        self._compression = compression
        self._groups = _checked_groups(groups)
        self._gradients = None
        self._synchronized = False
        self._should_synchronize = True
        self._attach()

    @staticmethod
    def find_duplicates(names):
        """Those that come more than once, as a set."""
        return _duplicates(names)

    # It means the reduced ones.
    def _reduce_for_scaler(self):
        gradients = vars(self).get("_gradients")
        if gradients is not None and gradients.running() and gradients.on_its_way():
            self._reduce()

    param_groups = _groups_for_scalers(_reduce_for_scaler)

    def _parameters(self):
        return [parameter for group in vars(self)["param_groups"] for parameter in group["params"]]

    def _attach(self, needed=True):
        """Hooks for this session, if there are others in it; after another init() they are made anew. Without a session
        there are none; where one is needed, that is an error."""
        if not needed and not _core.running():
            return None
        if self._gradients is not None and self._gradients.running():
            return self._gradients
        self._gradients = None
        number = _number(self.process_set)
        if not self.process_set.included() or _core.group_size(number) == 1:
            return None
        names = {id(parameter): name for parameter, name in self._parameter_names.items()}
        named = [(names.get(id(one), f"parameter {i}"), one) for i, one in enumerate(self._parameters())]
        options = {
            "accumulate": self.backward_passes_per_step,
            "predivide": self.gradient_predivide_factor,
            "sparse_as_dense": self.sparse_as_dense,
            "sparse_again": True,
            "always_all": True,  # Horovod fills in zeros where a parameter has no gradient
            "many_rounds": True,
            "prefix": "allreduce.",
        }
        if self._compression in _WIRE:
            options["compression"] = _WIRE[self._compression]
        elif self._compression is not NoneCompressor:
            options["compressor"] = self._compression
        if isinstance(self._groups, int):
            active = [one for one in self._parameters() if one.requires_grad]
            options["groups"] = [part for part in split_list(active, self._groups) if part]
        elif self._groups is not None:
            options["groups"] = self._groups
        self._gradients = _core.Gradients(named, number, self.op, options)
        self._gradients.enter()
        return self._gradients

    def load_state_dict(self, *args, **kwargs):
        gradients = self._attach(needed=False)
        if gradients:
            gradients.begin_round()
        self._synchronized = False
        self._should_synchronize = True
        return super(self.__class__, self).load_state_dict(*args, **kwargs)

    def set_backward_passes_per_step(self, passes):
        """So many backward passes add up before their gradients travel."""
        self.backward_passes_per_step = passes
        gradients = self._attach(needed=False)
        if gradients:
            gradients.set_accumulate(passes)

    def _reduce(self):
        gradients = self._attach()
        if gradients:
            gradients.follow(self._parameters())
            if not gradients.reduced():
                gradients.reduce()

    def synchronize(self):
        """Waits until all gradients are reduced: before they are clipped, or looked at.

        >>> loss.backward()
        >>> optimizer.synchronize()
        >>> torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        >>> with optimizer.skip_synchronize():
        ...     optimizer.step()
        """
        self._reduce()
        self._synchronized = True

    @contextmanager
    def skip_synchronize(self):
        """Inside, step() takes gradients as they are."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure=None):
        gradients = self._attach()
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() context after "
                    "optimizer.synchronize(): put it into 'with optimizer.skip_synchronize():'",
                    stacklevel=2,
                )
            if closure is not None:
                return self._step_with(closure)
            self._reduce()
        self._synchronized = False
        return self._own_step(gradients, closure)

    def _own_step(self, gradients, closure):
        if gradients is None:
            return super(self.__class__, self).step(closure)
        gradients.leave()  # what the optimizer makes for itself needs no shared memory
        try:
            return super(self.__class__, self).step(closure)
        finally:
            gradients.begin_round()
            gradients.enter()

    # The optimizer calls the closure when and as often as it likes; gradients are reduced after each call.
    def _step_with(self, closure):
        def reducing():
            loss = closure()
            self._reduce()
            return loss

        try:
            return super(self.__class__, self).step(reducing)
        finally:
            self._synchronized = False
            if self._gradients:
                self._gradients.begin_round()

    def zero_grad(self, *args, **kwargs):
        gradients = self._attach(needed=False)
        if gradients:
            waits = gradients.on_its_way()
            if waits:
                raise AssertionError(
                    "optimizer.zero_grad() was called after loss.backward() but before optimizer.step() or "
                    f"optimizer.synchronize(): gradients are being reduced (the first is '{waits}')"
                )
            gradients.follow(self._parameters())
            gradients.begin_round()
            gradients.enter()
        return super(self.__class__, self).zero_grad(*args, **kwargs)


class _DistributedAdasumOptimizer(torch.optim.Optimizer):
    """Every rank takes its own step; what the steps changed is combined by Adasum."""

    def __init__(self, params, named_parameters, compression, backward_passes_per_step=1):
        _take_over(self, params)
        self._parameter_names = {parameter: name for name, parameter in _named(self.param_groups, named_parameters)}
        self.backward_passes_per_step = backward_passes_per_step
        self._compression = compression

    # A step that is skipped on one rank would leave the others waiting in theirs: an overflow on one is one on all.
    def _share_overflow(self):
        gradients = [
            one.grad for group in vars(self)["param_groups"] for one in group["params"] if one.grad is not None
        ]
        values = [one._values() if one.is_sparse else one for one in gradients]
        finite = all(bool(one.isfinite().all()) for one in values)
        overflows = allreduce(torch.tensor([0.0 if finite else 1.0]), name="adasum.overflow", op=Max)
        if finite and overflows.item() > 0 and values:
            values[0].fill_(float("inf"))

    param_groups = _groups_for_scalers(_share_overflow)

    def set_backward_passes_per_step(self, passes):
        self.backward_passes_per_step = passes

    def synchronize(self):
        """Nothing is on its way before step()."""

    @contextmanager
    def skip_synchronize(self):
        raise AssertionError("with op=hvd.Adasum, step() always synchronizes: synchronize() cannot be skipped")
        yield

    def step(self, closure=None):
        active = [one for group in self.param_groups for one in group["params"] if one.requires_grad]
        before = [parameter.detach().clone() for parameter in active]
        loss = super(self.__class__, self).step(closure)
        with torch.no_grad():
            changes = [parameter.sub_(start) for parameter, start in zip(active, before, strict=True)]
            narrow, contexts = zip(*[self._compression.compress(change.detach()) for change in changes], strict=True)
            narrow = [one.contiguous() for one in narrow]
            reduced = _core.synchronize(grouped_allreduce_async_(narrow, name="adasum", op=Adasum))
            for parameter, start, change, context in zip(active, before, reduced, contexts, strict=True):
                parameter.copy_(start + self._compression.decompress(change, context))
        return loss


# torch runs hooks around step(), once: around the optimizer's own one, which ours calls.
_DistributedOptimizer.step.hooked = True
_DistributedAdasumOptimizer.step.hooked = True


def DistributedOptimizer(
    optimizer: torch.optim.Optimizer,
    named_parameters: Iterable[tuple[str, torch.Tensor]] | None = None,
    compression: type[Compressor] = Compression.none,
    backward_passes_per_step: int = 1,
    op: int = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: int | list[list[torch.Tensor]] | None = None,
    sparse_as_dense: bool = False,
    process_set: ProcessSet = global_process_set,
) -> torch.optim.Optimizer:
    """Makes an optimizer train one model on many ranks. Returns an optimizer of the same class, with the same state.

    Gradients are reduced while the backward pass computes others; step() waits for the last.

    compression: how gradients travel; backward_passes_per_step: so many add up first; op: Average, Sum or Adasum;
    gradient_predivide_factor: means divide by it before they add and by the rest after; groups: how many groups of
    parameters travel together, or which; sparse_as_dense: sparse gradients travel as dense ones; process_set: ranks
    that share the model.

    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
    >>> optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    >>> hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    >>> for batch, target in [(torch.ones(4, 3), torch.zeros(4, 2))]:
    ...     optimizer.zero_grad()
    ...     torch.nn.functional.mse_loss(model(batch), target).backward()
    ...     optimizer.step()
    """
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor needs op=hvd.Average")
    if num_groups != 0:
        warnings.warn("'num_groups' is deprecated: use 'groups'", DeprecationWarning, stacklevel=2)
        groups = num_groups if groups is None else groups
    if backward_passes_per_step <= 0:
        raise ValueError(f"backward_passes_per_step must be above 0, got {backward_passes_per_step}")
    options = {"compression": compression, "backward_passes_per_step": backward_passes_per_step}
    delta = op == Adasum and _core.size() > 1
    if delta and process_set is not global_process_set:
        raise NotImplementedError("op=hvd.Adasum works over all ranks: remove process_set")
    parts = _DistributedAdasumOptimizer if delta else _DistributedOptimizer
    if not delta:
        options |= {"op": op, "gradient_predivide_factor": gradient_predivide_factor, "groups": groups}
        options |= {"sparse_as_dense": sparse_as_dense, "process_set": process_set}
    own = {name: value for name, value in vars(parts).items() if name not in ("__dict__", "__weakref__")}
    made = type(optimizer.__class__.__name__, (optimizer.__class__,), own)
    wrapped = made.__new__(made)
    made.__init__(wrapped, optimizer, named_parameters, **options)
    return wrapped
