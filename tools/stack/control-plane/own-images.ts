/**
 * As import manifests name what was built on this machine. A node asks only itself for images of `localhost`: nobody else's can come in their
 * place where they were not loaded.
 */
export const AGENT_IMAGE = 'localhost/fairlead/agent:dev';
export const INSTALLER_IMAGE = 'localhost/fairlead/installer:dev';
