"""Receives the webhooks of a subscriber, and prints the events that are real, one line of JSON each.

README.md beside this folder says how to run it.
"""

import base64
import hashlib
import hmac
import json
import os
import ssl
import sys
import threading
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BYTES = 128 * 1024
TOLERANCE_SECONDS = 300
REMEMBERED = 10_000


def read_secrets(path):
    """One in each line: while a secret is being replaced, both."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    secrets = [base64.b64decode(line[len("whsec_"):]) for line in lines if line.startswith("whsec_")]
    if not secrets:
        raise SystemExit("WEBHOOK_SECRET_FILE has no secret")
    return secrets


SECRETS = read_secrets(os.environ["WEBHOOK_SECRET_FILE"])
# Ids of what came already: a message may come more than once. Keep them where your data is, and in the same transaction.
SEEN = OrderedDict()
LOCK = threading.Lock()


def is_real(headers, body):
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    # Without it, what somebody recorded could be sent again for ever.
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    # Over the bytes that came: JSON that was parsed and written again is another text.
    signed = f"{message_id}.{timestamp}.".encode("utf-8") + body
    given = headers.get("webhook-signature", "").split()
    for secret in SECRETS:
        mac = hmac.new(secret, signed, hashlib.sha256).digest()
        expected = b"v1," + base64.b64encode(mac)
        if any(hmac.compare_digest(each.encode("utf-8"), expected) for each in given):
            return True
    return False


def is_new(message_id):
    """Whether no message of this id came before; it is remembered."""
    with LOCK:
        if message_id in SEEN:
            return False
        SEEN[message_id] = True
        if len(SEEN) > REMEMBERED:
            SEEN.popitem(last=False)
        return True


class Receiver(BaseHTTPRequestHandler):
    timeout = 15

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > MAX_BYTES:
            return self.answer(413)
        body = self.rfile.read(int(length))
        if not is_real(self.headers, body):
            return self.answer(401)
        if is_new(self.headers["webhook-id"]):
            print(json.dumps(json.loads(body)), flush=True)
        # Answered once it is kept: whatever is not answered with 2xx within 15 s comes again.
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Requests are nobody's business."""


def main():
    host, _, port = os.environ.get("LISTEN", "127.0.0.1:8080").rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Receiver)
    if "TLS_CERT_FILE" in os.environ:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.environ["TLS_CERT_FILE"], os.environ["TLS_KEY_FILE"])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(f"listening on {host}:{server.server_port}", file=sys.stderr, flush=True)
    server.serve_forever()


main()
