package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"
)

// readinessPause is how soon a container that was not ready yet is asked again, if its period is longer.
const readinessPause = time.Second

// probe asks the container's probes until this run of it ends. A liveness probe that fails too often ends it.
func (c *container) probe(instance *instance) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-instance.main.done; cancel() }()
	if c.spec.StartupProbe != nil {
		if !c.untilStarted(ctx, instance) {
			return
		}
		c.found(instance, func() { c.started = true })
	}
	if c.spec.ReadinessProbe != nil {
		go c.watchReadiness(ctx, instance)
	}
	if c.spec.LivenessProbe != nil {
		c.watchLiveness(ctx, instance)
	}
	<-ctx.Done()
}

func (c *container) untilStarted(ctx context.Context, instance *instance) bool {
	started := false
	c.repeat(ctx, instance, c.spec.StartupProbe, func(err error, failures, _ int32) (stop bool) {
		if err == nil {
			started = true
			return true
		}
		if failures >= c.spec.StartupProbe.FailureThreshold {
			c.endUnhealthy(instance, "startup", c.spec.StartupProbe, err)
			return true
		}
		return false
	})
	return started
}

func (c *container) watchLiveness(ctx context.Context, instance *instance) {
	c.repeat(ctx, instance, c.spec.LivenessProbe, func(err error, failures, _ int32) (stop bool) {
		if failures < c.spec.LivenessProbe.FailureThreshold {
			return false
		}
		c.endUnhealthy(instance, "liveness", c.spec.LivenessProbe, err)
		return true
	})
}

func (c *container) watchReadiness(ctx context.Context, instance *instance) {
	probe := c.spec.ReadinessProbe
	c.repeat(ctx, instance, probe, func(_ error, failures, successes int32) (stop bool) {
		if successes >= probe.SuccessThreshold {
			c.found(instance, func() { c.ready = true })
		} else if failures >= probe.FailureThreshold {
			c.found(instance, func() { c.ready = false })
		}
		return false
	})
}

// repeat asks at the probe's period until the context ends or `judge` has seen enough.
func (c *container) repeat(ctx context.Context, instance *instance, probe *v1.Probe, judge func(err error, failures, successes int32) (stop bool)) {
	period := time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
	pause := time.Duration(probe.InitialDelaySeconds) * time.Second
	var failures, successes int32
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		err := c.ask(ctx, instance, probe)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failures, successes = 0, successes+1
		} else {
			failures, successes = failures+1, 0
			klog.InfoS("A probe failed", "pod", klog.KObj(c.pod.object), "container", c.spec.Name, "reason", err)
		}
		if judge(err, failures, successes) {
			return
		}
		pause = period
		if probe == c.spec.ReadinessProbe && !c.isReady() {
			pause = min(period, readinessPause)
		}
	}
}

// endUnhealthy ends this run as the deletion of the pod would; the restart policy says what comes then.
func (c *container) endUnhealthy(instance *instance, kind string, probe *v1.Probe, err error) {
	grace := c.pod.grace()
	if probe.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*probe.TerminationGracePeriodSeconds) * time.Second
	}
	klog.InfoS("A container is ended", "pod", klog.KObj(c.pod.object), "container", c.spec.Name, "failed", kind, "reason", err)
	instance.main.endWithin(grace)
}

func (c *container) ask(ctx context.Context, instance *instance, probe *v1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case probe.HTTPGet != nil:
		return c.askHTTP(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		address, err := c.endpoint(probe.TCPSocket.Host, probe.TCPSocket.Port)
		if err != nil {
			return err
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	default:
		return c.askCommand(ctx, instance, probe.Exec.Command)
	}
}

var probeClient = &http.Client{
	Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	// As the kubelet: to another host it does not follow, and is content.
	CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if next.URL.Hostname() != before[0].URL.Hostname() || len(before) >= 10 {
			return http.ErrUseLastResponse
		}
		return nil
	},
}

func (c *container) askHTTP(ctx context.Context, get *v1.HTTPGetAction) error {
	address, err := c.endpoint(get.Host, get.Port)
	if err != nil {
		return err
	}
	target, err := url.Parse(get.Path)
	if err != nil {
		return err
	}
	target.Scheme, target.Host = strings.ToLower(string(get.Scheme)), address
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/1.34")
	for _, header := range get.HTTPHeaders {
		request.Header.Add(header.Name, header.Value)
	}
	answer, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.CopyN(io.Discard, answer.Body, 10<<10); err != nil && err != io.EOF {
		return err
	}
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s answered %s", target, answer.Status)
	}
	return nil
}

func (c *container) askCommand(ctx context.Context, instance *instance, command []string) error {
	started, err := instance.exec(processSpec{argv: each(command, c.mounts().localise)})
	if err != nil {
		return err
	}
	select {
	case <-started.done:
	case <-ctx.Done():
		started.kill()
		<-started.done
		return ctx.Err()
	}
	if started.exitCode != 0 {
		return fmt.Errorf("exit status %d", started.exitCode)
	}
	return nil
}

func (c *container) endpoint(host string, port intstr.IntOrString) (string, error) {
	if host == "" {
		host = c.pod.address
	}
	number := port.IntValue()
	for _, each := range c.spec.Ports {
		if port.Type == intstr.String && each.Name == port.StrVal {
			number = int(each.ContainerPort)
		}
	}
	if number == 0 {
		return "", fmt.Errorf("there is no port %q", port.String())
	}
	return net.JoinHostPort(host, strconv.Itoa(number)), nil
}
