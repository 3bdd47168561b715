package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
)

// serviceAccountPath is where clients in a pod look for its identity.
const serviceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// invocation is what a container runs on this machine.
type invocation struct {
	argv, env []string
	dir       string
}

// invocation puts together the image's program and what the container says. Paths of its volumes become those of this
// machine, wherever its command, arguments and environment name them: there is only one file system here.
func (c *container) invocation(ctx context.Context, image *image) (*invocation, error) {
	work := filepath.Join(c.dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	mounts := c.mounts()
	maps.Copy(mounts, image.Paths)
	declared, err := c.declaredEnvironment(asking(ctx))
	if err != nil {
		return nil, err
	}
	spec := func(text string) string { return mounts.localise(expand(text, declared.values)) }
	env := newVariables()
	env.set("PATH", os.Getenv("PATH"))
	env.set("HOME", work)
	env.set("HOSTNAME", c.pod.object.Name)
	if dir, mounted := mounts["/tmp"]; mounted {
		env.set("TMPDIR", dir)
	}
	if err := c.addIdentity(env, mounts); err != nil {
		return nil, err
	}
	services := c.pod.kubelet.services.variables(c.pod.object.Namespace)
	if links := c.pod.object.Spec.EnableServiceLinks; links == nil || *links {
		for _, name := range sortedKeys(services) {
			env.set(name, services[name])
		}
	}
	for _, name := range declared.names {
		env.set(name, mounts.localise(declared.values[name]))
	}
	own := map[string]string{
		"POD_IP": c.pod.address, "POD_NAME": c.pod.object.Name, "POD_NAMESPACE": c.pod.object.Namespace,
		"SERVICE_ACCOUNT_DIR": mounts[serviceAccountPath], "VOLUMES_DIR": c.pod.volumeDir(""),
	}
	maps.Copy(own, services)
	for name, value := range image.Env {
		env.set(name, expand(value, own))
	}
	argv := image.Program
	if len(c.spec.Command) > 0 {
		argv = each(c.spec.Command, spec)
	}
	argv = append(argv[:len(argv):len(argv)], each(c.spec.Args, spec)...)
	argv = append(argv, each(image.AppendArgs, func(text string) string { return expand(text, own) })...)
	if c.spec.WorkingDir != "" {
		work = mounts.localise(c.spec.WorkingDir)
	}
	return &invocation{argv: argv, env: env.list(), dir: work}, nil
}

// addIdentity tells the process how to reach the API server as its service account: programs that look for the usual
// folder cannot be told another one, but they all take a kubeconfig.
func (c *container) addIdentity(env *variables, mounts mounts) error {
	config := c.pod.kubelet.config
	env.set("KUBERNETES_SERVICE_HOST", config.apiHost)
	env.set("KUBERNETES_SERVICE_PORT", config.apiPort)
	account, mounted := mounts[serviceAccountPath]
	if !mounted {
		return nil
	}
	path := filepath.Join(c.dir, "kubeconfig")
	if err := writeKubeconfig(path, config, account); err != nil {
		return err
	}
	env.set("KUBECONFIG", path)
	return nil
}
