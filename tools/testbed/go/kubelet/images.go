package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// image is what a container of that image runs: a program with its arguments, and what this machine needs on top.
type image struct {
	Program []string `json:"program"`
	// AppendArgs come after the container's own, and so win where a program takes the last of a flag.
	AppendArgs []string `json:"appendArgs"`
	// Paths are files and folders of the image by where they are on this machine, for those that a container names.
	Paths map[string]string `json:"paths"`
	// Env wins over the container's own. Like AppendArgs it may have $(POD_IP), $(POD_NAME), $(POD_NAMESPACE),
	// $(SERVICE_ACCOUNT_DIR), $(VOLUMES_DIR) and the hosts of Services in it, whatever the container's environment is.
	Env map[string]string `json:"env"`
}

// UnmarshalJSON also takes the program alone, as a list.
func (i *image) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &i.Program); err == nil {
		return nil
	}
	type plain image
	return json.Unmarshal(text, (*plain)(i))
}

// readImages reads the map of images. An image that is not in it cannot be pulled.
func readImages(path string) (map[string]image, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var images map[string]image
	if err := json.Unmarshal(text, &images); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for name, image := range images {
		if len(image.Program) == 0 {
			return nil, fmt.Errorf("%s: %s has no program", path, name)
		}
	}
	return images, nil
}

// pull finds the image in the map as it is now: a test may add what was missing.
func (k *kubelet) pull(name string) (*image, error) {
	images, err := readImages(k.config.imagesFile)
	if err != nil {
		return nil, err
	}
	if found, known := images[name]; known {
		return &found, nil
	}
	return nil, fmt.Errorf("failed to pull image %q: the test kubelet's map has no such image", name)
}
