package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// services stands in for kube-proxy: where a Service has a loopback address, it listens there on the Service's TCP ports
// and carries each connection to a pod that is ready. Without one, a connection is closed at once.
type services struct {
	kubelet        *kubelet
	services, pods cache.Store

	mu sync.Mutex
	// listeners are by address and port.
	listeners map[string]net.Listener
}

// serveServices follows the cluster's Services until the context ends. Resolves when those that are there are served.
func (k *kubelet) serveServices(ctx context.Context) {
	s := &services{kubelet: k, listeners: map[string]net.Listener{}}
	changed := func(any) { s.sync(ctx) }
	client := k.client.CoreV1().RESTClient()
	var ofServices, ofPods cache.Controller
	s.pods, ofPods = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client, "pods", v1.NamespaceAll, fields.Everything()),
		ObjectType:    &v1.Pod{},
		Handler:       cache.ResourceEventHandlerFuncs{},
	})
	s.services, ofServices = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client, "services", v1.NamespaceAll, fields.Everything()),
		ObjectType:    &v1.Service{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
		},
	})
	k.services = s
	go ofPods.RunWithContext(ctx)
	go ofServices.RunWithContext(ctx)
	cache.WaitForCacheSync(ctx.Done(), ofPods.HasSynced, ofServices.HasSynced)
}

// sync listens for the Services that there are now, and for no others.
func (s *services) sync(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := map[string]bool{}
	for _, object := range s.services.List() {
		service := object.(*v1.Service)
		if address := net.ParseIP(service.Spec.ClusterIP); len(service.Spec.Selector) == 0 || address == nil || !address.IsLoopback() {
			continue
		}
		for _, port := range service.Spec.Ports {
			if port.Protocol != v1.ProtocolTCP {
				continue
			}
			at := net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port.Port)))
			wanted[at] = true
			if s.listeners[at] == nil {
				s.listen(ctx, at, service.Namespace, service.Name, port.Port)
			}
		}
	}
	for at, listener := range s.listeners {
		if !wanted[at] {
			_ = listener.Close()
			delete(s.listeners, at)
		}
	}
}

func (s *services) listen(ctx context.Context, at, namespace, name string, port int32) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		klog.ErrorS(err, "A Service cannot be served", "service", klog.KRef(namespace, name))
		return
	}
	s.listeners[at] = listener
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			accepted, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go s.carry(accepted.(*net.TCPConn), namespace, name, port)
			}
		}
	}()
}

func (s *services) carry(from *net.TCPConn, namespace, name string, port int32) {
	defer from.Close()
	target, err := s.endpoint(namespace, name, port)
	if err != nil {
		klog.InfoS("A connection to a Service goes nowhere", "service", klog.KRef(namespace, name), "reason", err)
		return
	}
	dialled, err := net.DialTimeout("tcp", target, portForwardDialTimeout)
	if err != nil {
		klog.InfoS("A connection to a Service goes nowhere", "service", klog.KRef(namespace, name), "reason", err)
		return
	}
	to := dialled.(*net.TCPConn)
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.CloseWrite()
	}()
	_, _ = io.Copy(from, to)
}

// endpoint is where one of the ready pods listens.
func (s *services) endpoint(namespace, name string, port int32) (string, error) {
	object, known, err := s.services.GetByKey(namespace + "/" + name)
	if err != nil || !known {
		return "", fmt.Errorf("there is no such Service: %w", err)
	}
	service := object.(*v1.Service)
	var found []string
	for _, object := range s.pods.List() {
		pod := object.(*v1.Pod)
		if pod.Namespace != namespace || !isReady(pod) || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			continue
		}
		for _, each := range service.Spec.Ports {
			if number := targetPort(pod, each); each.Port == port && number != 0 {
				found = append(found, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(number)))
			}
		}
	}
	if len(found) == 0 {
		return "", errors.New("no pod is ready")
	}
	return found[rand.IntN(len(found))], nil
}

func isReady(pod *v1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodReady {
			return condition.Status == v1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

func targetPort(pod *v1.Pod, port v1.ServicePort) int {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntValue()
	}
	for _, container := range pod.Spec.Containers {
		for _, each := range container.Ports {
			if each.Name == port.TargetPort.StrVal {
				return int(each.ContainerPort)
			}
		}
	}
	return 0
}

// variables are those that tell a pod of the Services beside it.
func (s *services) variables(namespace string) map[string]string {
	found := map[string]string{}
	if s == nil {
		return found
	}
	for _, object := range s.services.List() {
		service := object.(*v1.Service)
		address := service.Spec.ClusterIP
		if service.Namespace != namespace || address == "" || address == v1.ClusterIPNone || len(service.Spec.Ports) == 0 {
			continue
		}
		prefix := strings.ToUpper(strings.ReplaceAll(service.Name, "-", "_")) + "_SERVICE_"
		found[prefix+"HOST"] = address
		found[prefix+"PORT"] = strconv.Itoa(int(service.Spec.Ports[0].Port))
	}
	return found
}
