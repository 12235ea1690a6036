variable "name" {
  description = "Name of the cluster, with which the roles' names begin"
  type        = string
}

variable "cluster_name" {
  description = "The same name, from the cluster that is there: the associations need it"
  type        = string
}

variable "trust_policy" {
  description = "Who may assume the roles: the document pod_identity of the module trust-policies"
  type        = string
}

variable "identities" {
  description = "Components by name, with their ServiceAccounts, and a policy as JSON or ARNs of policies"
  type = map(object({
    namespace        = string
    service_accounts = list(string)
    policy           = optional(string)
    policy_arns      = optional(list(string), [])
  }))
}
