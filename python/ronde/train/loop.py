"""The loop of one fit(): steps, what follows each of them, epochs and their evaluations."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import torch

from ronde.torch.mpi_ops import Sum, allreduce, allreduce_async, synchronize
from ronde.train import feed, schedules
from ronde.train.deadline import Deadline

if TYPE_CHECKING:
    from ronde.train.trainer import Trainer


class Run:
    """One call of fit()."""

    def __init__(self, trainer: Trainer, deadline: Deadline, logs: Any) -> None:
        self._all, self._deadline, self._logs = trainer, deadline, logs
        self._vote: int | None = None  # of the step before; it travels while this one computes
        self._loss = torch.zeros(2, dtype=torch.float64, device=trainer.device)  # sum and samples since the last report
        self._said_at = self._began_at = time.monotonic()
        self._values: dict[str, float] = {}

    def go(self) -> tuple[str, dict[str, float], int]:
        all = self._all
        epochs, steps = all.settings["train.epochs"], all._feed.steps
        last = epochs * steps
        if all.settings["train.steps"] > 0:
            last = min(last, all.settings["train.steps"])
        if all.step >= last:
            all._say(
                f"the training in {all.folder} is complete; to start over: settings={{'checkpoint.resume': 'none'}}"
            )
        # An evaluation that the last job had no time for comes first.
        stopped = self._evaluate() if all.step > 0 and self._is_judged(all.step) else ""
        batches = all._feed.begin(all.step)
        all.network.train()
        while all.step < last and not stopped:
            self._one_step(next(batches))
            stopped = self._decisions(all.step == last)
            if all.step % steps == 0 or all.step == last:
                self._epoch_ended()
                stopped = stopped or self._evaluate()
            elif self._is_judged(all.step):
                stopped = stopped or self._evaluate()
        if hasattr(batches, "close"):
            batches.close()
        if all.step >= last and (all._held_out is None or all._evaluated_at == all.step):
            stopped, self._deadline.exit_code = stopped if stopped == "target reached" else "finished", 0
        self._save()
        code = self._deadline.exit_code
        return stopped, self._values, code

    def _is_judged(self, step: int) -> bool:
        every = self._all.settings["train.evaluate_every"]
        return step % self._all._feed.steps == 0 or (every > 0 and step % every == 0)

    def _one_step(self, batch: Any) -> None:
        all = self._all
        inputs, targets = feed.to_device(all._unpack(batch), all.device)
        if all._schedule is not None:
            schedules.set_rate(all.optimizer, all._schedule(all.step))
        loss, count = all._steps(all.step, inputs, targets, all._feed.batch)
        all.step += 1
        if all.ema:
            all.ema.update()
        self._loss += torch.stack([loss * count, torch.full_like(loss, count)])
        if loss.device.type == "cpu" and not math.isfinite(loss.item()):
            raise FloatingPointError(
                f"the loss is not finite in step {all.step} on rank {all.rank}; a smaller learning rate, a warm-up "
                "(schedule.warmup) or train.clip_norm may help"
            )
        if all._callbacks:
            all._tell("on_step", {"loss": loss.item(), "lr": all.optimizer.param_groups[0]["lr"]})

    # What ranks want is known one step later, so that none waits for it; the last step's at once.
    def _decisions(self, is_last: bool) -> str:
        all = self._all
        self._deadline.needs(checkpoint_s=all.checkpointer.seconds)
        self._deadline._step_ended()
        by_steps = all.checkpointer.due(all.step) if all.checkpointer.goes_by_steps else False
        is_due = not all.checkpointer.goes_by_steps and all.rank == 0 and all.checkpointer.due(all.step)
        mine = torch.tensor([*self._deadline._asked(), is_due, all._stopping], dtype=torch.float64)
        before, self._vote = self._vote, None
        votes = synchronize(before) if before is not None else torch.zeros(4, dtype=torch.float64)
        if is_last or all.size == 1:
            votes = votes + (allreduce(mine, name="train.votes.last", op=Sum) if all.size > 1 else mine)
        else:
            self._vote = allreduce_async(mine, name="train.votes", op=Sum)
        interrupted, over, keep, stop = (bool(vote) for vote in votes > 0)
        if self._deadline._decide(interrupted, over):
            return self._end(self._deadline.why)
        if stop:
            return self._end("stopped")
        if keep or by_steps:
            self._save()
        self._report()
        return ""

    # What still travels is heard, so that no rank is left alone with it.
    def _end(self, why: str) -> str:
        if self._vote is not None:
            synchronize(self._vote)
            self._vote = None
        return why

    def _save(self) -> None:
        all = self._all
        all._steps.meet()
        all._tell("on_checkpoint", all.checkpointer.folder)
        done = all.step % all._feed.steps
        samples = done * (all._feed.batch or 1)
        best = None if math.isnan(all._best) else all._best
        extra = {"best": best, "since_best": all._since_best, "evaluated_at": all._evaluated_at}
        all.checkpointer.save(all.step, epoch=all.epoch, samples=samples, extra=extra)

    # Every few seconds on the screen: of this rank's samples.
    def _report(self) -> None:
        all, now = self._all, time.monotonic()
        if all.rank != 0 or now - self._said_at < 5:
            return
        loss, count = self._loss.tolist()
        self._said_at = now
        steps = all._feed.steps
        all._say(f"epoch {all.epoch + 1}, step {all.step % steps}/{steps}: loss {loss / max(count, 1):.4f}")

    def _epoch_ended(self) -> None:
        all = self._all
        sums = self._loss.cpu().clone()
        if all.size > 1:
            sums = allreduce(sums, name="train.loss", op=Sum)
        self._loss.zero_()
        loss, count = sums.tolist()
        mean = loss / max(count, 1)
        if not math.isfinite(mean):
            raise FloatingPointError(f"the loss of the epoch that ended with step {all.step} is not finite")
        seconds, self._began_at = time.monotonic() - self._began_at, time.monotonic()
        self._values = {"loss": mean}
        values = {"loss": mean, "lr": all.optimizer.param_groups[0]["lr"], "samples_per_second": count / seconds}
        if (noise := all._steps.noise.value) is not None:
            values["noise_scale"] = noise
        self._log("train", values)
        all._tell("on_epoch", values)
        all._say(f"epoch {math.ceil(all.step / all._feed.steps)}: loss {mean:.4f}, {count / seconds:,.0f} samples/s")

    # Once at a step; returns why training should end.
    def _evaluate(self) -> str:
        all = self._all
        if all._held_out is None or all._evaluated_at == all.step:
            return ""
        self._values = all.evaluate()
        all._evaluated_at = all.step
        self._deadline._other_work_ended()
        self._log("evaluation", self._values)
        all._tell("on_evaluate", self._values)
        all._say("held out: " + ", ".join(f"{name} {value:.4f}" for name, value in self._values.items()))
        self._began_at = time.monotonic()
        return self._judge()

    # By the first measure, which is better the higher, or by the loss.
    def _judge(self) -> str:
        all = self._all
        name = next(iter(all._measures), "loss")
        is_error = name == "loss" or "error" in name
        value = -self._values[name] if is_error else self._values[name]
        if not value <= all._best:
            all._best, all._since_best = value, 0
        else:
            all._since_best += 1
        target, patience = all.settings["train.target_accuracy"], all.settings["train.patience"]
        if target > 0 and (value >= target if not is_error else -value <= target):
            return self._end("target reached")
        return self._end("no improvement") if patience > 0 and all._since_best >= patience else ""

    def _log(self, kind: str, values: dict[str, float]) -> None:
        error = self._logs.write(self._all.step, kind, values) if self._logs else None
        if error:
            self._all._say(f"warning: the log cannot be written: {error}")
