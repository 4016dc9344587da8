"""`--engine` and its options: which engine reduces the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

if TYPE_CHECKING:  # see EngineOptions.choice
    from highbar.model.job import EngineChoice

NAMES = ("duckdb", "spark")
"""The engines of this package, named here so that help and completion load none of them."""


class _EngineName(click.Choice):  # type: ignore[type-arg] # generic only in the newest click
    """One of our engines, or one that an installed package adds: the environment is asked only about other names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            from highbar.engine.opening import engine_names  # only for a name that is not ours

            if value in engine_names():
                return value
        return super().convert(value, param, ctx)


class EngineOptions(Struct, frozen=True, eq=False):
    """What the command line says about the engine."""

    name: str
    spark_master: str | None
    spark_remote: str | None
    memory_limit: str | None

    def choice(self) -> EngineChoice:
        """The engine that is meant. Raises UsageError for options that do not go together."""
        from highbar.engine.opening import choose_engine  # the engine is loaded only for a command that reads rows

        if self.name != "spark":
            for option, value in (("--spark-master", self.spark_master), ("--spark-remote", self.spark_remote)):
                if value is not None:
                    raise click.UsageError(f"{option} is for --engine spark")
            return choose_engine(self.name, memory_limit=self.memory_limit)
        if self.spark_master is not None and self.spark_remote is not None:
            raise click.UsageError("--spark-master and --spark-remote are two ways to name a session: give one")
        if self.memory_limit is not None:
            raise click.UsageError("--memory-limit is for this process; a Spark session has its own")
        return choose_engine(self.name, spark_master=self.spark_master, spark_remote=self.spark_remote)


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options; its function takes them as one argument, `engine`."""

    @click.option(
        "--engine",
        type=_EngineName(NAMES),
        default="duckdb",
        show_default=True,
        help="What reduces the rows: this process, or Spark (pip install 'highbar[spark]').",
    )
    @click.option("--spark-master", metavar="URL", help="The master of the Spark session; else local[*].")
    @click.option("--spark-remote", metavar="URL", help="The address of a Spark Connect server.")
    @click.option(
        "--memory-limit", metavar="SIZE", help="The most memory to use, such as 600MB; more goes to the disk."
    )
    @wraps(command)
    def with_engine(
        *,
        engine: str,
        spark_master: str | None,
        spark_remote: str | None,
        memory_limit: str | None,
        **arguments: Any,
    ) -> int:
        return command(engine=EngineOptions(engine, spark_master, spark_remote, memory_limit), **arguments)

    return with_engine
