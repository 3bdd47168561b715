package main

import (
	"net/url"

	"k8s.io/client-go/rest"
)

type config struct {
	kubeconfig, nodeName, address   string
	port                            int
	certFile, keyFile, clientCAFile string
	imagesFile, rootDir             string
	bindsPods, servesServices       bool
	// apiHost and apiPort are the API server's, for the processes of pods.
	apiHost, apiPort string
}

func (c *config) readServer(client *rest.Config) error {
	server, err := url.Parse(client.Host)
	if err != nil {
		return err
	}
	c.apiHost, c.apiPort = server.Hostname(), server.Port()
	if c.apiPort == "" {
		c.apiPort = "443"
	}
	return nil
}
