-- Health of a cluster and of its nodes for the Argo CD of a hub:
-- resource.customizations.health.provision.argosy.dev_KIND, of the kinds XEKSCluster and XEKSNodes
-- (Crossplane), EKSCluster and EKSNodes (kro).
-- Healthy means seen on the version that was asked for.
local status = obj.status or {}
local message = "waits for version " .. obj.spec.version
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Ready" then
    if condition.status == "True" and status.version == obj.spec.version and (condition.observedGeneration or obj.metadata.generation) == obj.metadata.generation then
      return {status = "Healthy", message = "seen on version " .. obj.spec.version}
    end
    message = condition.message or message
  elseif condition.type == "Synced" and condition.status == "False" then
    return {status = "Degraded", message = condition.message}
  end
end
if status.state == "ERROR" then
  return {status = "Degraded", message = message}
end
return {status = "Progressing", message = message}
