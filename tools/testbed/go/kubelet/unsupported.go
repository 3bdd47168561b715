package main

import v1 "k8s.io/api/core/v1"

// unsupported says what of the pod this kubelet cannot do: it rather fails than run something else than was asked for.
func unsupported(object *v1.Pod) string {
	for _, container := range object.Spec.InitContainers {
		if container.RestartPolicy != nil {
			return "the test kubelet has no init containers that go on"
		}
	}
	for _, volume := range object.Spec.Volumes {
		if volume.EmptyDir == nil && volume.ConfigMap == nil && volume.Secret == nil && volume.DownwardAPI == nil && volume.Projected == nil {
			return "the test kubelet has no volumes of the kind of " + volume.Name
		}
	}
	for _, container := range object.Spec.Containers {
		for _, probe := range []*v1.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
			if probe != nil && probe.HTTPGet == nil && probe.TCPSocket == nil && probe.Exec == nil {
				return "the test kubelet knows probes by HTTP, TCP and command only"
			}
		}
		if container.Lifecycle != nil {
			return "the test kubelet has no lifecycle hooks"
		}
		for _, mount := range container.VolumeMounts {
			if mount.SubPathExpr != "" {
				return "the test kubelet has no subPathExpr"
			}
		}
	}
	return ""
}
