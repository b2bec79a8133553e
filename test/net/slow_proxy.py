# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy whose bytes take their time, which this kernel cannot do by itself (no netem)."""

import asyncio
import contextlib
import threading


class SlowProxy(threading.Thread):
    """Passes connections on to a port of 127.0.0.1; each byte comes out later by a delay, at first 0."""

    def __init__(self, host, port):
        super().__init__(daemon=True, name="slow proxy")
        self.host = host
        self.target_port = port
        self.delay_s = 0
        self.loop = asyncio.new_event_loop()
        self.listening = threading.Event()
        self.start()
        self.listening.wait(10)

    def run(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.serve, self.host, 0))
        self.port = server.sockets[0].getsockname()[1]
        self.listening.set()
        self.loop.run_forever()
        server.close()
        self.cancel_all()
        self.loop.close()

    def cancel_all(self):
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def serve(self, reader, writer):
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
            await asyncio.gather(self.pass_on(reader, far_writer),
                                 self.pass_on(far_reader, writer))

    async def pass_on(self, reader, writer):
        """One direction. What is read at once is written at once, later."""
        queue = asyncio.Queue()
        writing = asyncio.ensure_future(self.write_later(queue, writer))
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                queue.put_nowait((self.loop.time() + self.delay_s, data))
        queue.put_nowait((self.loop.time() + self.delay_s, b""))
        await writing

    async def write_later(self, queue, writer):
        with contextlib.suppress(OSError):
            while True:
                at, data = await queue.get()
                await asyncio.sleep(at - self.loop.time())
                if not data:
                    break
                writer.write(data)
        writer.close()

    def set_delay(self, seconds):
        """Of what arrives from now on, each way."""
        self.delay_s = seconds

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.join(10)
