package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// stableAfter is how long a process must have run for the next backoff to begin anew.
	stableAfter = time.Minute
	// pullFailure is how long a failed pull is told as such before it is a wait for the next one.
	pullFailure = 500 * time.Millisecond
)

// container is one container of a pod, through all its restarts.
type container struct {
	pod  *pod
	spec *v1.Container
	dir  string
	// runsOnce: it is an init container, which is done once it succeeded.
	runsOnce bool

	mu       sync.Mutex
	state    v1.ContainerState
	last     v1.ContainerState
	restarts int32
	// running is what runs now, or nil.
	running *instance
	// started and ready are what the probes of this run have found.
	started, ready bool
}

func newContainer(pod *pod, spec *v1.Container) *container {
	dir := filepath.Join(pod.dir(), spec.Name)
	creating := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	return &container{pod: pod, spec: spec, dir: dir, state: creating}
}

// run keeps the container's process running as the restart policy says, until the pod stops; then ends it. The result is
// whether it ended with success by itself.
func (c *container) run() (succeeded bool) {
	backoff := firstBackoff
	for run := int32(0); c.pod.stopping.Err() == nil; run++ {
		invocation := c.prepare()
		if invocation == nil {
			return false
		}
		began := time.Now()
		exitCode := c.runOnce(invocation, run)
		if c.pod.stopping.Err() != nil || !c.runsAgain(exitCode) {
			return exitCode == 0
		}
		if time.Since(began) > stableAfter {
			backoff = firstBackoff
		}
		c.wait("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container %s", backoff, c.spec.Name))
		if !c.pause(backoff) {
			return false
		}
		backoff = min(2*backoff, maxBackoff)
	}
	return false
}

// prepare pulls the image and finds out what to run, however often that takes; nil when the pod stops.
func (c *container) prepare() *invocation {
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		image, err := c.pod.kubelet.pull(c.spec.Image)
		if err != nil {
			c.wait("ErrImagePull", err.Error())
			if !c.pause(pullFailure) {
				return nil
			}
			c.wait("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: %s", c.spec.Image, err))
		} else {
			ctx, cancel := context.WithTimeout(c.pod.stopping, apiTimeout)
			invocation, err := c.invocation(ctx, image)
			cancel()
			if err == nil {
				return invocation
			}
			c.wait("CreateContainerConfigError", err.Error())
		}
		if !c.pause(backoff) {
			return nil
		}
	}
}

// pause is false when the pod stops in the meantime.
func (c *container) pause(duration time.Duration) bool {
	select {
	case <-c.pod.stopping.Done():
		return false
	case <-time.After(duration):
		return true
	}
}

func (c *container) runOnce(invocation *invocation, run int32) (exitCode int32) {
	started := metav1.Now()
	instance, err := c.start(invocation, run)
	if err != nil {
		klog.ErrorS(err, "A container did not start", "pod", klog.KObj(c.pod.object), "container", c.spec.Name)
		c.ended(v1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: err.Error(), StartedAt: started}, run)
		return 128
	}
	c.set(v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: started}}, instance, run)
	go c.probe(instance)
	select {
	case <-instance.main.done:
	case <-c.pod.stopping.Done():
		instance.main.signal(syscall.SIGTERM)
		select {
		case <-instance.main.done:
		case <-c.pod.killing.Done():
			instance.main.kill()
			<-instance.main.done
		}
	}
	instance.end()
	exitCode = int32(instance.main.exitCode)
	reason := "Completed"
	if exitCode != 0 {
		reason = "Error"
	}
	c.ended(v1.ContainerStateTerminated{ExitCode: exitCode, Reason: reason, StartedAt: started}, run)
	return exitCode
}

func (c *container) start(invocation *invocation, run int32) (*instance, error) {
	log, err := createLog(c.logPath(run))
	if err != nil {
		return nil, err
	}
	return startInstance(c.spec, invocation.argv, invocation.env, invocation.dir, log)
}

func (c *container) runsAgain(exitCode int32) bool {
	policy := c.pod.object.Spec.RestartPolicy
	if c.runsOnce && policy == v1.RestartPolicyAlways {
		policy = v1.RestartPolicyOnFailure
	}
	switch policy {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return exitCode != 0
	default:
		return true
	}
}

// logPath is where the log of the n-th run is, counted from 0.
func (c *container) logPath(run int32) string {
	return filepath.Join(c.dir, strconv.Itoa(int(run))+".log")
}

func (c *container) wait(reason, message string) {
	_, _, run := c.current()
	c.set(v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}}, nil, run)
}

func (c *container) ended(how v1.ContainerStateTerminated, run int32) {
	how.FinishedAt = metav1.Now()
	c.mu.Lock()
	how.ContainerID = c.id(run)
	c.mu.Unlock()
	c.set(v1.ContainerState{Terminated: &how}, nil, run)
}

func (c *container) set(state v1.ContainerState, running *instance, run int32) {
	c.mu.Lock()
	if c.state.Terminated != nil {
		c.last = c.state
	}
	c.state, c.running, c.restarts = state, running, run
	c.started = running != nil && c.spec.StartupProbe == nil
	c.ready = running != nil && c.spec.ReadinessProbe == nil
	c.mu.Unlock()
	c.pod.tell()
}

// found takes over what a probe of this run has found.
func (c *container) found(instance *instance, change func()) {
	c.mu.Lock()
	started, ready := c.started, c.ready
	if c.running == instance {
		change()
	}
	changed := started != c.started || ready != c.ready
	c.mu.Unlock()
	if changed {
		c.pod.tell()
	}
}

// current is what runs now, and how often it was restarted.
func (c *container) current() (*instance, v1.ContainerState, int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running, c.state, c.restarts
}

func (c *container) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started && c.ready
}

func (c *container) report() v1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	started := c.started
	status := v1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, State: c.state, LastTerminationState: c.last,
		Ready: started && c.ready, Started: &started, RestartCount: c.restarts,
	}
	if c.runsOnce {
		status.Ready = c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
	}
	if c.state.Waiting == nil || c.last.Terminated != nil {
		status.ImageID = "process://" + c.spec.Image
		status.ContainerID = c.id(c.restarts)
	}
	return status
}

// id ends with the process id of what runs now, for tests that want to do something to it.
func (c *container) id(run int32) string {
	id := fmt.Sprintf("process://%s/%s/%d", c.pod.object.UID, c.spec.Name, run)
	if c.running != nil {
		id += fmt.Sprintf("/%d", c.running.main.cmd.Process.Pid)
	}
	return id
}
