package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

var mapKey = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.+)'\]$`)

// field is what the downward API says of the pod.
func (p *pod) field(path string) (string, error) {
	switch path {
	case "metadata.name":
		return p.object.Name, nil
	case "metadata.namespace":
		return p.object.Namespace, nil
	case "metadata.uid":
		return string(p.object.UID), nil
	case "metadata.labels":
		return formatMap(p.object.Labels), nil
	case "metadata.annotations":
		return formatMap(p.object.Annotations), nil
	case "spec.nodeName":
		return p.kubelet.config.nodeName, nil
	case "spec.serviceAccountName":
		return p.object.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return p.address, nil
	case "status.hostIP", "status.hostIPs":
		return p.kubelet.config.address, nil
	}
	if found := mapKey.FindStringSubmatch(path); found != nil {
		from := p.object.Labels
		if found[1] == "annotations" {
			from = p.object.Annotations
		}
		return from[found[2]], nil
	}
	return "", fmt.Errorf("the test kubelet does not know the field %q", path)
}

func formatMap(values map[string]string) string {
	lines := make([]string, 0, len(values))
	for _, key := range sortedKeys(values) {
		lines = append(lines, fmt.Sprintf("%s=%q", key, values[key]))
	}
	return strings.Join(lines, "\n")
}

// resource is a limit or a request of a container; a limit that is not set is the node's.
func (p *pod) resource(selector *v1.ResourceFieldSelector, container *v1.Container) (string, error) {
	for index := range p.object.Spec.Containers {
		if p.object.Spec.Containers[index].Name == selector.ContainerName {
			container = &p.object.Spec.Containers[index]
		}
	}
	kind, name, _ := strings.Cut(selector.Resource, ".")
	from := container.Resources.Limits
	if kind == "requests" {
		from = container.Resources.Requests
	}
	quantity, set := from[v1.ResourceName(name)]
	if !set && kind == "limits" {
		quantity = nodeStatus(p.kubelet.config).Allocatable[v1.ResourceName(name)]
	}
	value, divisor := quantity.AsApproximateFloat64(), selector.Divisor.AsApproximateFloat64()
	if divisor == 0 {
		divisor = 1
	}
	whole := int64(value / divisor)
	if float64(whole) < value/divisor {
		whole++
	}
	return strconv.FormatInt(whole, 10), nil
}
