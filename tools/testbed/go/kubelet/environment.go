package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// declaredEnvironment is what the container's spec says of its environment, in the order that it says it.
func (c *container) declaredEnvironment(ctx context.Context) (*variables, error) {
	env := newVariables()
	for _, from := range c.spec.EnvFrom {
		if err := c.addAll(ctx, env, from); err != nil {
			return nil, err
		}
	}
	for index := range c.spec.Env {
		variable := &c.spec.Env[index]
		if variable.ValueFrom == nil {
			env.set(variable.Name, expand(variable.Value, env.values))
			continue
		}
		value, present, err := c.valueFrom(ctx, variable.ValueFrom)
		if err != nil {
			return nil, err
		}
		if present {
			env.set(variable.Name, value)
		}
	}
	return env, nil
}

func (c *container) addAll(ctx context.Context, env *variables, from v1.EnvFromSource) error {
	var data map[string][]byte
	var err error
	switch {
	case from.ConfigMapRef != nil:
		data, err = c.pod.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		data, err = c.pod.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
	}
	for name, value := range data {
		env.set(from.Prefix+name, string(value))
	}
	return err
}

func (c *container) valueFrom(ctx context.Context, source *v1.EnvVarSource) (value string, present bool, err error) {
	switch {
	case source.FieldRef != nil:
		value, err = c.pod.field(source.FieldRef.FieldPath)
		return value, true, err
	case source.ResourceFieldRef != nil:
		value, err = c.pod.resource(source.ResourceFieldRef, c.spec)
		return value, true, err
	case source.ConfigMapKeyRef != nil:
		ref := source.ConfigMapKeyRef
		data, err := c.pod.configMap(ctx, ref.Name, ref.Optional)
		return pick(data, ref.Key, ref.Optional, err)
	case source.SecretKeyRef != nil:
		ref := source.SecretKeyRef
		data, err := c.pod.secret(ctx, ref.Name, ref.Optional)
		return pick(data, ref.Key, ref.Optional, err)
	default:
		return "", false, fmt.Errorf("the test kubelet does not know this source of a variable")
	}
}

func pick(data map[string][]byte, key string, optional *bool, err error) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	value, present := data[key]
	if !present && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("there is no key %q", key)
	}
	return string(value), present, nil
}
