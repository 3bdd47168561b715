"""Prints the events that a subscriber is told, one line of JSON each. README.md beside this folder says how to run it."""

import asyncio
import os
import signal
import ssl
import sys

import nats
import nkeys
from nats.aio.client import Client
from nats.errors import TimeoutError as NoMessages

STREAM = "FAIRLEAD_EVENTS"


async def main() -> None:
    url = os.environ["NATS_URL"]
    with open(os.environ["NATS_SEED_FILE"], encoding="ascii") as file:
        seed = file.read().strip()
    public = nkeys.from_seed(bytearray(seed.encode())).public_key.decode()
    tls = {}
    if url.startswith("tls:"):
        tls = {"tls": ssl.create_default_context(cafile=os.environ.get("NATS_CA_FILE")), "tls_handshake_first": True}
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    # The server ends each connection after an hour, which this client takes for good: then it needs a new one.
    while not ended.is_set():
        nc = await nats.connect(
            url,
            nkeys_seed_str=seed,
            # The only place where this key may listen.
            inbox_prefix=f"_INBOX_{public}",
            max_reconnect_attempts=-1,
            **tls,
        )
        await follow(nc, ended)
        await nc.close()


async def follow(nc: Client, ended: asyncio.Event) -> None:
    js = nc.jetstream(prefix="fairlead.streams")
    subscription = await js.pull_subscribe_bind(os.environ["NATS_CONSUMER"], STREAM)
    while not ended.is_set() and not nc.is_closed:
        try:
            for message in await subscription.fetch(100, timeout=5):
                print(message.data.decode(), flush=True)
                # An event that is not acknowledged within 30 s comes again: drop repetitions by its id.
                await message.ack()
        except NoMessages:
            pass
        except nats.errors.Error as error:
            # The consumer is made anew when the subscriber is told again (fairlead subscriber replay).
            print(error, file=sys.stderr, flush=True)
            await asyncio.sleep(1)


asyncio.run(main())
