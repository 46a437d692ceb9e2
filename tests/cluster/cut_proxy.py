"""A proxy of TCP between a server and PostgreSQL that delays, stalls, cuts, and loses answers."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator


class CutProxy:
    """Runs in a thread of its own; the methods are called from any other. ``port`` is where it listens."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._delay_s = 0.0
        self._loses_answers = False
        self._refuses = False
        self.asked = 0
        self.port = 0

    def cut(self) -> None:
        """End every connection at once; new ones are taken."""
        self._call(self._abort_all)

    def refuse(self, refuses: bool = True) -> None:
        """Cut, and take no new connections, or do again."""
        self._refuses = refuses
        self.cut()

    def stall(self) -> None:
        """Nothing passes, and nothing ends, until ``flow``."""
        self._call(self._flows.clear)

    def flow(self) -> None:
        """Everything passes again, at once."""
        self._delay_s, self._loses_answers, self._refuses = 0.0, False, False
        self._call(self._flows.set)

    def delay(self, seconds: float) -> None:
        """From now on, of every piece, in both directions."""
        self._delay_s = seconds

    def lose_answers(self) -> None:
        """What is asked from now on arrives; at its answer the connection is cut."""
        self._loses_answers = True

    def run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def end(self) -> None:
        self._server.close()
        self._abort_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # after what was aborted is closed

    def start(self, thread: threading.Thread) -> None:
        thread.start()
        asyncio.run_coroutine_threadsafe(self.listen(), self._loop).result()

    def stop(self, thread: threading.Thread) -> None:
        asyncio.run_coroutine_threadsafe(self.end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        thread.join()

    def _call(self, work: Callable[[], object]) -> None:
        done = threading.Event()

        def run() -> None:
            work()
            self._loop.call_soon(done.set)  # after the loop has closed what was aborted

        self._loop.call_soon_threadsafe(run)
        done.wait()

    def _abort_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        there: asyncio.StreamWriter | None = None
        try:
            if self._refuses:
                return
            there_reader, there = await asyncio.open_connection("127.0.0.1", self._target_port)
            self._writers.add(there)
            await asyncio.gather(self._pass(reader, there, asks=True), self._pass(there_reader, writer, asks=False))
        except OSError:
            return  # either end is gone: so is the other
        finally:
            for each in (writer, there):
                if each is not None:
                    self._writers.discard(each)
                    each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asks: bool) -> None:
        while piece := await reader.read(65536):
            if self._delay_s:
                await asyncio.sleep(self._delay_s)
            await self._flows.wait()
            if self._loses_answers and not asks:
                break
            self.asked += asks
            writer.write(piece)
            await writer.drain()
        raise ConnectionResetError  # ends the other direction too


@contextlib.contextmanager
def proxied(target_port: int) -> Iterator[CutProxy]:
    """A proxy before a port of this machine, for as long as the block lasts."""
    proxy = CutProxy(target_port)
    thread = threading.Thread(target=proxy.run, name="cut-proxy")
    proxy.start(thread)
    try:
        yield proxy
    finally:
        proxy.flow()
        proxy.stop(thread)
