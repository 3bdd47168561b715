package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

const (
	apiTimeout    = 10 * time.Second
	apiRetryPause = time.Second
)

// status is what a kubelet would report of the pod as its containers are now.
func (p *pod) status() v1.PodStatus {
	status := v1.PodStatus{
		HostIP: p.kubelet.config.address, HostIPs: []v1.HostIP{{IP: p.kubelet.config.address}},
		PodIP: p.address, PodIPs: []v1.PodIP{{IP: p.address}},
		StartTime: &p.started,
	}
	initialized := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	for _, container := range p.inits {
		each := container.report()
		status.InitContainerStatuses = append(status.InitContainerStatuses, each)
		if !each.Ready {
			initialized.Status, initialized.Reason = v1.ConditionFalse, "ContainersNotInitialized"
		}
	}
	var unready []string
	for _, container := range p.containers {
		each := container.report()
		status.ContainerStatuses = append(status.ContainerStatuses, each)
		if !each.Ready {
			unready = append(unready, each.Name)
		}
	}
	status.Phase = phaseOf(status.ContainerStatuses, p.object.Spec.RestartPolicy)
	if failedToInitialize(status.InitContainerStatuses, p.object.Spec.RestartPolicy) {
		status.Phase = v1.PodFailed
	}
	ready := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionTrue}
	if len(unready) > 0 {
		ready.Status, ready.Reason = v1.ConditionFalse, "ContainersNotReady"
		ready.Message = fmt.Sprintf("containers with unready status: %v", unready)
	}
	podReady := ready
	podReady.Type = v1.PodReady
	p.reported = since(p.reported, []v1.PodCondition{
		{Type: v1.PodScheduled, Status: v1.ConditionTrue},
		initialized,
		ready,
		podReady,
	})
	status.Conditions = p.reported
	return status
}

// failedToInitialize: an init container failed, and is not to run again.
func failedToInitialize(containers []v1.ContainerStatus, policy v1.RestartPolicy) bool {
	for _, container := range containers {
		if ended := container.State.Terminated; ended != nil && ended.ExitCode != 0 && policy == v1.RestartPolicyNever {
			return true
		}
	}
	return false
}

// since says of each condition when it became what it is.
func since(before, now []v1.PodCondition) []v1.PodCondition {
	for index := range now {
		now[index].LastTransitionTime = metav1.Now()
		if before != nil && before[index].Status == now[index].Status {
			now[index].LastTransitionTime = before[index].LastTransitionTime
		}
	}
	return now
}

// phaseOf: a pod is pending until every container has run, and done when none runs or will run again.
func phaseOf(containers []v1.ContainerStatus, policy v1.RestartPolicy) v1.PodPhase {
	done, failed := true, false
	for _, container := range containers {
		state, last := container.State, container.LastTerminationState
		if state.Waiting != nil && last.Terminated == nil {
			return v1.PodPending
		}
		ended := state.Terminated
		if ended == nil || policy == v1.RestartPolicyAlways || (policy == v1.RestartPolicyOnFailure && ended.ExitCode != 0) {
			done = false
			continue
		}
		failed = failed || ended.ExitCode != 0
	}
	switch {
	case !done:
		return v1.PodRunning
	case failed:
		return v1.PodFailed
	default:
		return v1.PodSucceeded
	}
}

// write puts the status into the API, however often that takes, until the pod or the kubelet ends.
func (p *pod) write(kubelet context.Context, status v1.PodStatus) {
	// The uid lets the API server refuse a status that is meant for an earlier pod of the same name.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.object.UID}, "status": status})
	if err != nil {
		klog.ErrorS(err, "A pod's status cannot be written", "pod", klog.KObj(p.object))
		return
	}
	p.insist(kubelet, "write the status of", func(ctx context.Context) error {
		pods := p.kubelet.client.CoreV1().Pods(p.object.Namespace)
		_, err := pods.Patch(ctx, p.object.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

// deleteFromAPI says that nothing of the pod is left here: only then is it gone for everybody.
func (p *pod) deleteFromAPI(kubelet context.Context) {
	p.insist(kubelet, "delete", func(ctx context.Context) error {
		options := metav1.NewDeleteOptions(0)
		options.Preconditions = metav1.NewUIDPreconditions(string(p.object.UID))
		return p.kubelet.client.CoreV1().Pods(p.object.Namespace).Delete(ctx, p.object.Name, *options)
	})
}

func (p *pod) insist(kubelet context.Context, what string, call func(context.Context) error) {
	for kubelet.Err() == nil && p.gone.Err() == nil {
		ctx, cancel := context.WithTimeout(kubelet, apiTimeout)
		err := call(ctx)
		cancel()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
			if apierrors.IsInvalid(err) {
				klog.ErrorS(err, "The API server refused to "+what+" a pod", "pod", klog.KObj(p.object))
			}
			return
		}
		klog.ErrorS(err, "Could not "+what+" a pod; will try again", "pod", klog.KObj(p.object))
		select {
		case <-kubelet.Done():
		case <-p.gone.Done():
		case <-time.After(apiRetryPause):
		}
	}
}
