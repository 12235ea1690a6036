-- Health of a cluster of Cluster API for the Argo CD of a hub:
-- resource.customizations.health.cluster.x-k8s.io_Cluster. Healthy means that control plane and nodes
-- are on the version that was asked for.
local status = obj.status or {}
local wanted = {Available = false, TopologyReconciled = false}
local message = "waits for Cluster API"
for _, condition in ipairs(status.conditions or {}) do
  if wanted[condition.type] == false then
    if condition.status == "True" and (condition.observedGeneration or obj.metadata.generation) == obj.metadata.generation then
      wanted[condition.type] = true
    else
      message = condition.message or message
    end
  end
  if condition.type == "RollingOut" and condition.status == "True" then
    return {status = "Progressing", message = condition.message}
  end
end
if wanted.Available and wanted.TopologyReconciled then
  return {status = "Healthy", message = "seen on version " .. obj.spec.topology.version}
end
return {status = "Progressing", message = message}
