"""
Targets: what a command line names, found and loaded.

A target is ``path/to/file.py`` or ``module``, with ``:name`` behind it where the name is not one of the usual ones.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard

import procession
from procession.errors import ProcessionError, TargetError, WorkflowDefinitionError
from procession.messages.value import Value
from procession.models.model import LanguageModel
from procession.steps.step import as_step
from procession.workflows.workflow import Workflow, create_workflow

if TYPE_CHECKING:
    from procession.agents.agent import Agent

__all__ = ["USUAL_NAMES", "Target", "agent_of", "called", "load_target", "workflow_of"]

_OURS = f"{Path(procession.__file__).parent}{os.sep}"
USUAL_NAMES = ("pipeline", "workflow", "agent")
"""What is looked for where a target has no ``:name``, in this order."""


class Target(Value, kw_only=True):
    """
    What a command line named: an object of a module.
    """

    text: str
    """As it was written."""
    name: str
    thing: Any
    module: ModuleType

    def setting(self, name: str) -> Mapping[str, str]:
        """
        Return a mapping of texts that the module declares for the command line; empty where it declares none.

        Raises ``TargetError`` where it is something else.
        """
        given = getattr(self.module, name, None)
        if given is None:
            return {}
        if not _is_mapping(given):
            raise TargetError(f"{self.text}: {name} is no mapping", hint="see docs/cli.md for what it may say")
        return {str(key): str(value) for key, value in given.items()}


def load_target(text: str, *, usual: Sequence[str] = USUAL_NAMES) -> Target:
    """
    Load the file or module that *text* names and return what it names in there, or what has a *usual* name.

    Raises ``TargetError`` where there is no such file, module or name, or where it cannot be imported, and
    ``WorkflowDefinitionError`` where importing it commits a workflow that cannot work.
    """
    place, name = _split(text)
    module = _import_file(place, text) if _is_file(place) else _import_module(place, text)
    if name is not None:
        try:
            return Target(text=text, name=name, thing=getattr(module, name), module=module)
        except AttributeError:
            raise _missing(text, name, module, usual) from None
    for each in usual:
        if hasattr(module, each):
            return Target(text=text, name=each, thing=getattr(module, each), module=module)
    found = {key: value for key, value in _candidates(module).items() if _is_workflow(value)}
    if len(found) == 1:
        ((key, value),) = found.items()
        return Target(text=text, name=key, thing=value, module=module)
    names = " or ".join(map(repr, usual))
    named = list(found or _candidates(module))[:8]
    hint = f"there are {', '.join(named)}: say which, {text}:{named[-1]}" if named else f"call it {names}"
    raise TargetError(f"{text} has nothing called {names}", hint=hint)


def workflow_of(target: Target, model: LanguageModel | None = None, *, inside: bool = False) -> Workflow[Any, Any]:
    """
    Return the workflow that *target* is or makes: functions are called, with ``model=`` where one is given.

    What is no workflow but can stand in one becomes a workflow of one step; *inside*, an agent is its loop instead.

    Raises ``TargetError`` for anything else, and where *model* is given to what is made already.
    """
    thing = target.thing
    if inspect.isroutine(thing):
        thing = called(target, thing, model)
    elif model is not None:
        raise TargetError(
            f"{target.text} is made already and cannot be given a model",
            hint=f"make {target.name!r} a function that takes model and returns the workflow",
        )
    if _is_workflow(thing):
        return thing
    loop = getattr(thing, "workflow", None) if inside else None
    if _is_workflow(loop):
        return loop
    try:
        step = as_step(thing)
    except ProcessionError:
        what = type(thing).__name__
        raise TargetError(
            f"{target.text}: {target.name!r} is {what!r}, no workflow",
            hint="name a workflow, an agent, a step, a processor, or a function that returns one of them",
        ) from None
    return create_workflow(step.id, step.input_type).then(step).commit()


def agent_of(target: Target, model: LanguageModel | None = None) -> Agent:
    """
    Return the agent that *target* is or makes: functions are called, with ``model=`` where one is given.

    Raises ``TargetError`` for anything else.
    """
    from procession.agents.agent import Agent  # what is no agent is drawn and run without it

    thing = target.thing
    if inspect.isroutine(thing):
        thing = called(target, thing, model)
    if not isinstance(thing, Agent):
        raise TargetError(
            f"{target.text}: {target.name!r} is {type(thing).__name__!r}, no agent",
            hint="name an agent; `procession graph` draws everything else",
        )
    return thing


def agent_in(target: Target) -> Agent | None:
    """
    Return the agent that *target* is or makes, or ``None`` where it is something else.
    """
    try:
        return agent_of(target)
    except TargetError:
        return None


def called(target: Target, function: Any, model: LanguageModel | None) -> Any:
    """
    Return what a *function* of the target makes, with ``model=`` where one is given.

    Raises ``TargetError`` where it needs anything else.
    """
    parameters = inspect.signature(function).parameters.values()
    takes_model = any(each.name == "model" or each.kind is each.VAR_KEYWORD for each in parameters)
    needed = [each.name for each in parameters if each.default is each.empty and each.kind < each.VAR_POSITIONAL]
    if model is not None and not takes_model:
        raise TargetError(f"{target.text}: {target.name}() takes no model", hint="give it a parameter called model")
    if [name for name in needed if not (name == "model" and model is not None)]:
        raise TargetError(
            f"{target.text}: {target.name}() needs {', '.join(needed)}",
            hint="it is called with no arguments, or with model= alone: give its parameters defaults",
        )
    made = _guarded(target.text, lambda: function(**({"model": model} if model is not None else {})))
    if inspect.iscoroutine(made):
        made.close()
        raise TargetError(f"{target.text}: {target.name}() is async", hint="make it a plain function")
    return made


def _split(text: str) -> tuple[str, str | None]:
    place, colon, name = text.rpartition(":")
    if colon and name.isidentifier() and place:
        return place, name
    return text, None


def _is_file(place: str) -> bool:
    return place.endswith(".py") or os.sep in place or "/" in place or Path(place).exists()


def _import_file(place: str, text: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        there = sorted(each.name for each in path.parent.glob("*.py")) if path.parent.is_dir() else []
        near = get_close_matches(path.name, there, n=1)
        hint = f"did you mean {path.with_name(near[0])}?" if near else None
        raise TargetError(f"there is no file {place}" if not path.is_dir() else f"{place} is a folder", hint=hint)
    path = path.resolve()
    # Beside its neighbours, as if Python had been given the file; under its own name unless that is taken.
    sys.path.insert(0, str(path.parent))
    name = path.stem if path.stem not in sys.modules else f"procession_target_{path.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{place} is no Python file", hint="name a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader
    try:
        _guarded(text, lambda: loader.exec_module(module))
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _import_module(place: str, text: str) -> ModuleType:
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        made: ModuleType = _guarded(text, lambda: importlib.import_module(place))
    except TargetError as error:
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError) and cause.name and (place + ".").startswith(cause.name + "."):
            raise TargetError(
                f"there is no module {cause.name!r}", hint="give the path of a file, or a module that can be imported"
            ) from None
        raise
    return made


def _guarded(text: str, load: Any) -> Any:
    """
    Run code of the target; what it raises becomes a ``TargetError`` that says where.
    """
    try:
        return load()
    except WorkflowDefinitionError:
        raise
    except SyntaxError as error:
        raise TargetError(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<frozen")]
        here = [each for each in frames if not each.filename.startswith(_OURS)] or frames  # where the mistake is
        place = f"{here[-1].filename}:{here[-1].lineno}: " if here else ""
        raise TargetError(f"{text} cannot be loaded: {place}{type(error).__name__}: {error}") from error


def _is_workflow(thing: Any) -> TypeGuard[Workflow[Any, Any]]:
    return isinstance(thing, Workflow)


def _is_mapping(thing: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(thing, Mapping)


def _candidates(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and hasattr(value, "as_step") and not inspect.isclass(value)
    } | {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def _missing(text: str, name: str, module: ModuleType, usual: Sequence[str]) -> TargetError:
    found = dict.fromkeys((*_candidates(module), *(each for each in usual if hasattr(module, each))))
    names = list(found) or [key for key in vars(module) if not key.startswith("_")]
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(names)[:8])}" if names else None
    return TargetError(f"{text}: there is no {name!r} in it", hint=hint)
