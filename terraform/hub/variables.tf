variable "name" {
  description = "Name of the hub: of the cluster in EKS and in the fleet"
  type        = string
}

variable "region" {
  description = "Region of the hub"
  type        = string
}

variable "vpc_cidr" {
  description = "Addresses of the hub's network; the spokes' must not overlap where they are peered"
  type        = string
  default     = "10.0.0.0/16"
}

variable "kubernetes_version" {
  description = "Version of the control plane"
  type        = string
  default     = "1.36"
}

variable "fleet" {
  description = "The fleet's repository, as charts/hub has it"
  type = object({
    url      = string
    revision = optional(string, "main")
  })
}

variable "argosy_version" {
  description = "Version of charts/hub"
  type        = string
}

variable "chart_repository" {
  description = "Where charts/hub is published"
  type        = string
}

variable "argocd_version" {
  description = "Version of the chart argo-cd; values/argo-cd.yaml has that of Argo CD"
  type        = string
  default     = "10.1.1"
}

variable "external_secrets_version" {
  description = "Version of the chart external-secrets"
  type        = string
  default     = "0.20.4"
}

variable "spoke_role_arns" {
  description = "Roles of the spokes that Argo CD may assume"
  type        = list(string)
  default     = ["arn:aws:iam::*:role/fleet-spoke-*"]
}

variable "secret_arns" {
  description = "Records that External Secrets may read: one's own below the hub's name, and those of the spokes' accounts"
  type        = list(string)
  default     = ["arn:aws:secretsmanager:*:*:secret:fleet/*"]
}

variable "key_arns" {
  description = "Keys of the records"
  type        = list(string)
  default     = ["arn:aws:kms:*:*:key/*"]
}
