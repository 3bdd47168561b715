package main

import (
	"fmt"
	"os"
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
)

// container is one container of a pod, through all its restarts.
type container struct {
	pod  *pod
	spec *v1.Container
	dir  string

	mu       sync.Mutex
	state    v1.ContainerState
	last     v1.ContainerState
	restarts int32
	// running is what runs now, or nil.
	running *instance
}

func newContainer(pod *pod, spec *v1.Container) *container {
	dir := filepath.Join(pod.kubelet.config.rootDir, "pods", string(pod.object.UID), spec.Name)
	creating := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	return &container{pod: pod, spec: spec, dir: dir, state: creating}
}

// run keeps the container's process running as the restart policy says, until the pod stops; then ends it.
func (c *container) run() {
	argv, known := c.pod.kubelet.images[c.spec.Image]
	if !known {
		c.wait("ErrImagePull", fmt.Sprintf("failed to pull image %q: the test kubelet's map has no such image", c.spec.Image))
		<-c.pod.stopping.Done()
		return
	}
	backoff := firstBackoff
	for run := int32(0); c.pod.stopping.Err() == nil; run++ {
		began := time.Now()
		exitCode := c.runOnce(argv, run)
		if c.pod.stopping.Err() != nil || !c.runsAgain(exitCode) {
			return
		}
		if time.Since(began) > stableAfter {
			backoff = firstBackoff
		}
		c.wait("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container %s", backoff, c.spec.Name))
		select {
		case <-c.pod.stopping.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

func (c *container) runOnce(argv []string, run int32) (exitCode int32) {
	started := metav1.Now()
	instance, err := c.start(argv, run)
	if err != nil {
		klog.ErrorS(err, "A container did not start", "pod", klog.KObj(c.pod.object), "container", c.spec.Name)
		c.ended(v1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: err.Error(), StartedAt: started}, run)
		return 128
	}
	c.set(v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: started}}, instance, run)
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

func (c *container) start(argv []string, run int32) (*instance, error) {
	work := filepath.Join(c.dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	log, err := createLog(c.logPath(run))
	if err != nil {
		return nil, err
	}
	command := argv
	if len(c.spec.Command) > 0 {
		command = c.spec.Command
	}
	if c.spec.WorkingDir != "" {
		work = c.spec.WorkingDir
	}
	environment := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "HOSTNAME=" + c.pod.object.Name}
	for _, variable := range c.spec.Env {
		environment = append(environment, variable.Name+"="+variable.Value)
	}
	return startInstance(c.spec, append(command[:len(command):len(command)], c.spec.Args...), environment, work, log)
}

func (c *container) runsAgain(exitCode int32) bool {
	switch c.pod.object.Spec.RestartPolicy {
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
	c.set(v1.ContainerState{Terminated: &how}, nil, run)
}

func (c *container) set(state v1.ContainerState, running *instance, run int32) {
	c.mu.Lock()
	if c.state.Terminated != nil {
		c.last = c.state
	}
	c.state, c.running, c.restarts = state, running, run
	c.mu.Unlock()
	c.pod.tell()
}

// current is what runs now, and how often it was restarted.
func (c *container) current() (*instance, v1.ContainerState, int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running, c.state, c.restarts
}

func (c *container) report() v1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	running := c.running != nil
	status := v1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, State: c.state, LastTerminationState: c.last,
		Ready: running, Started: &running, RestartCount: c.restarts,
	}
	if c.state.Waiting == nil || c.last.Terminated != nil {
		status.ImageID = "process://" + c.spec.Image
		status.ContainerID = fmt.Sprintf("process://%s/%s/%d", c.pod.object.UID, c.spec.Name, c.restarts)
	}
	return status
}
