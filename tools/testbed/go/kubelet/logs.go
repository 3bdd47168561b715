package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/logs"
	"k8s.io/klog/v2"
)

func (k *kubelet) serveLogs(w http.ResponseWriter, r *http.Request) {
	options, err := logOptions(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	container := k.findContainer(r)
	if container == nil {
		http.Error(w, "there is no such container here", http.StatusNotFound)
		return
	}
	path, err := container.logOf(options.Previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	running, _, _ := container.current()
	status := runStatus{instance: running}
	out := flushing{w, http.NewResponseController(w)}
	if err := logs.ReadLogs(r.Context(), nil, path, "", logs.NewLogOptions(options, time.Now()), status, out, out); err != nil {
		// Most often a client that followed and went away; the answer has begun, so nobody else can be told.
		klog.InfoS("Reading a log ended", "container", container.spec.Name, "reason", err)
	}
}

// logOf is the file with the log of the present run, or of the one before.
func (c *container) logOf(previous bool) (string, error) {
	_, state, restarts := c.current()
	// Between two runs, the previous one is the last that there was.
	if previous && state.Waiting == nil {
		restarts--
	}
	path := c.logPath(restarts)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	name, pod := c.spec.Name, c.pod.object.Name
	switch {
	case previous:
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, pod)
	case state.Waiting != nil && (state.Waiting.Reason == "ErrImagePull" || state.Waiting.Reason == "ImagePullBackOff"):
		return "", fmt.Errorf("container %q in pod %q is waiting to start: trying and failing to pull image", name, pod)
	default:
		return "", fmt.Errorf("container %q in pod %q is waiting to start", name, pod)
	}
}

// logOptions reads what the API server sends of the options for logs.
func logOptions(query url.Values) (*v1.PodLogOptions, error) {
	options := &v1.PodLogOptions{}
	for name, values := range query {
		value, err := values[0], error(nil)
		switch name {
		case "follow":
			options.Follow, err = strconv.ParseBool(value)
		case "previous":
			options.Previous, err = strconv.ParseBool(value)
		case "timestamps":
			options.Timestamps, err = strconv.ParseBool(value)
		case "tailLines":
			options.TailLines, err = count(value)
		case "limitBytes":
			options.LimitBytes, err = count(value)
		case "sinceSeconds":
			options.SinceSeconds, err = count(value)
		case "sinceTime":
			var since time.Time
			since, err = time.Parse(time.RFC3339, value)
			options.SinceTime = &metav1.Time{Time: since}
		default:
			err = fmt.Errorf("not known here")
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, value, err)
		}
	}
	return options, nil
}

func count(value string) (*int64, error) {
	parsed, err := strconv.ParseInt(value, 10, 64)
	if err == nil && parsed < 0 {
		err = strconv.ErrRange
	}
	return &parsed, err
}

// runStatus is all that the reader of logs asks of a container runtime: whether what it follows still runs.
type runStatus struct {
	internalapi.RuntimeService
	instance *instance
}

func (s runStatus) ContainerStatus(context.Context, string, bool) (*runtimeapi.ContainerStatusResponse, error) {
	state := runtimeapi.ContainerState_CONTAINER_EXITED
	if s.instance != nil {
		select {
		case <-s.instance.logged:
		default:
			state = runtimeapi.ContainerState_CONTAINER_RUNNING
		}
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: state}}, nil
}

// flushing sends every line at once.
type flushing struct {
	http.ResponseWriter
	controller *http.ResponseController
}

func (f flushing) Write(line []byte) (int, error) {
	n, err := f.ResponseWriter.Write(line)
	if err == nil {
		err = f.controller.Flush()
	}
	return n, err
}
