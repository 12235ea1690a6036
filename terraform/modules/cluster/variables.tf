variable "name" {
  description = "Name of the cluster and its network"
  type        = string
}

variable "vpc_cidr" {
  description = "Addresses of the network"
  type        = string
}

variable "kubernetes_version" {
  description = "Version of the control plane"
  type        = string
}
