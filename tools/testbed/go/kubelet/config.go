package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type config struct {
	kubeconfig, nodeName, address   string
	port                            int
	certFile, keyFile, clientCAFile string
	imagesFile, rootDir             string
}

// readImages reads the map of images to the arguments of a process. An image that is not in it cannot be pulled.
func readImages(path string) (map[string][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var images map[string][]string
	if err := json.Unmarshal(text, &images); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for image, argv := range images {
		if len(argv) == 0 {
			return nil, fmt.Errorf("%s: %s has no program", path, image)
		}
	}
	return images, nil
}
