package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/klog/v2"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"
	"k8s.io/kubelet/pkg/cri/streaming/remotecommand"
)

// As in a kubelet.
const (
	streamIdleTimeout     = 4 * time.Hour
	streamCreationTimeout = remotecommandconsts.DefaultStreamCreationTimeout
	readHeaderTimeout     = 10 * time.Second
)

// serve begins to answer what an API server asks of a kubelet, over HTTPS and only with a client certificate. The
// result stops it.
func serve(k *kubelet) (stop func(), err error) {
	tlsConfig, err := tlsConfigFrom(k.config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(k.config.address, strconv.Itoa(k.config.port)))
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: routes(k), TLSConfig: tlsConfig, ReadHeaderTimeout: readHeaderTimeout}
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The server ended")
			os.Exit(1)
		}
	}()
	return func() { _ = server.Close() }, nil
}

func tlsConfigFrom(config config) (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(config.certFile, config.keyFile)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(config.clientCAFile)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", config.clientCAFile)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
	}, nil
}

func routes(k *kubelet) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !k.synced.Load() {
			http.Error(w, "the node's pods are not known yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ok")
	})
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", k.serveExec)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", k.serveAttach)
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.servePortForward)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLogs)
	return mux
}

func (k *kubelet) serveExec(w http.ResponseWriter, r *http.Request) {
	options, running, ok := k.streamsTo(w, r)
	if !ok {
		return
	}
	command := r.URL.Query()["command"]
	if len(command) == 0 {
		http.Error(w, "no command", http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, running, "", "", "", command, options,
		streamIdleTimeout, streamCreationTimeout, remotecommandconsts.SupportedStreamingProtocols)
}

func (k *kubelet) serveAttach(w http.ResponseWriter, r *http.Request) {
	options, running, ok := k.streamsTo(w, r)
	if !ok {
		return
	}
	remotecommand.ServeAttach(w, r, running, "", "", "", options,
		streamIdleTimeout, streamCreationTimeout, remotecommandconsts.SupportedStreamingProtocols)
}

func (k *kubelet) servePortForward(w http.ResponseWriter, r *http.Request) {
	pod := k.find(r.PathValue("namespace"), r.PathValue("pod"))
	if pod == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{pod}, "", "", options,
		streamIdleTimeout, streamCreationTimeout, portforward.SupportedProtocols)
}

// streamsTo finds the container of a request for exec or attach, and which streams it asks for; or answers why not.
func (k *kubelet) streamsTo(w http.ResponseWriter, r *http.Request) (*remotecommand.Options, *instance, bool) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, nil, false
	}
	container := k.findContainer(r)
	if container == nil {
		http.Error(w, "there is no such container here", http.StatusNotFound)
		return nil, nil, false
	}
	running, _, _ := container.current()
	if running == nil {
		http.Error(w, fmt.Sprintf("container %s is not running", container.spec.Name), http.StatusInternalServerError)
		return nil, nil, false
	}
	return options, running, true
}

func (k *kubelet) findContainer(r *http.Request) *container {
	if pod := k.find(r.PathValue("namespace"), r.PathValue("pod")); pod != nil {
		return pod.find(r.PathValue("container"))
	}
	return nil
}

var (
	_ remotecommand.Executor    = &instance{}
	_ remotecommand.Attacher    = &instance{}
	_ portforward.PortForwarder = forwarder{}
)
