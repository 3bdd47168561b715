"""What a program does with the Python client for Kubernetes, by one kubeconfig. Prints what it saw as one JSON object."""

import json
import sys
import threading

from kubernetes import __version__, client, config, watch
from kubernetes.stream import portforward, stream

KUBECONFIG, PREFIX, WEB_PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
NAMESPACE = "default"
TIMEOUT_SECONDS = 60


def objects(api):
    """Makes, changes and deletes an object while it is watched from the version of a list on."""
    name = f"{PREFIX}-python"
    selector = f"metadata.name={name}"
    before = api.list_namespaced_config_map(NAMESPACE, field_selector=selector)
    seen = []

    def watching():
        watcher = watch.Watch()
        for event in watcher.stream(
            api.list_namespaced_config_map,
            NAMESPACE,
            field_selector=selector,
            resource_version=before.metadata.resource_version,
            timeout_seconds=TIMEOUT_SECONDS,
        ):
            seen.append([event["type"], (event["object"].data or {}).get("word")])
            if event["type"] == "DELETED":
                watcher.stop()

    thread = threading.Thread(target=watching)
    thread.start()
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data={"word": "one"})
    api.create_namespaced_config_map(NAMESPACE, body)
    api.patch_namespaced_config_map(name, NAMESPACE, {"data": {"word": "two"}})
    read = api.read_namespaced_config_map(name, NAMESPACE).data
    api.delete_namespaced_config_map(name, NAMESPACE)
    thread.join(TIMEOUT_SECONDS)
    return {"before": len(before.items), "read": read, "watched": seen}


def refused(api):
    try:
        api.read_namespaced_config_map("nobody", NAMESPACE)
    except client.ApiException as error:
        return [error.status, json.loads(error.body)["reason"]]
    return None


def command(api):
    """Talks with a command, and learns its exit code."""
    talk = stream(
        api.connect_get_namespaced_pod_exec,
        "shell",
        NAMESPACE,
        command=["sh", "-c", "read word; echo got $word; echo oh >&2; exit 3"],
        stdin=True,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )
    talk.write_stdin("hello\n")
    talk.run_forever(timeout=TIMEOUT_SECONDS)
    return {"stdout": talk.read_stdout(), "stderr": talk.read_stderr(), "code": talk.returncode}


def forwarded(api):
    """Speaks HTTP with a pod over a forwarded port."""
    ports = portforward(api.connect_get_namespaced_pod_portforward, f"web-{WEB_PORT}", NAMESPACE, ports=str(WEB_PORT))
    connection = ports.socket(WEB_PORT)
    connection.setblocking(True)
    connection.settimeout(TIMEOUT_SECONDS)
    connection.sendall(b"POST / HTTP/1.1\r\nHost: pod\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
    answer = b""
    while piece := connection.recv(65536):
        answer += piece
    connection.close()
    # Chunked, as the echo does not know how much there will be.
    return [answer.split(b"\r\n")[0].decode(), b"hello" in answer.split(b"\r\n\r\n", 1)[1], ports.error(WEB_PORT)]


def main():
    config.load_kube_config(KUBECONFIG)
    api = client.CoreV1Api()
    print(
        json.dumps(
            {
                "version": __version__,
                "objects": objects(api),
                "refused": refused(api),
                "command": command(api),
                "forwarded": forwarded(api),
            }
        )
    )


main()
