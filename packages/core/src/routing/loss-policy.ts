import { GatewayError } from '../base/errors.ts'
import type { Identity, OnLoss } from '../config/identity.ts'
import type { Loss } from '../formats/ir.ts'

/** From lenient to strict. */
export const lossPolicies: readonly OnLoss[] = ['ignore', 'warn', 'reject']

/** The header in which a call requests a loss policy. */
export const lossPolicyHeader = 'modelgate-on-loss'

/**
 * Parses the loss policy that a call requests in its header; undefined if it requests none. Permission depends on the target and is
 * checked by `effectiveLossPolicy`.
 *
 * @throws GatewayError `invalid_request` for an unknown policy
 */
export function parseLossPolicy(header: string | undefined): OnLoss | undefined {
  const requested = header?.trim().toLowerCase()
  if (requested === undefined || requested === '') return undefined
  const known = lossPolicies.find((policy) => policy === requested)
  if (known === undefined)
    throw new GatewayError(
      'invalid_request',
      `${lossPolicyHeader}: unknown value '${requested.slice(0, 50)}'. Use one of: ${lossPolicies.join(', ')}.`,
      {
        param: lossPolicyHeader,
      },
    )
  return known
}

/**
 * Returns the loss policy for a call to a target. Callers may always choose a stricter policy than the configured one; a more lenient one
 * must be listed in their identity's `onLoss`.
 *
 * @throws GatewayError `permission` (403) for a policy that the identity does not allow
 */
export function effectiveLossPolicy(
  requested: OnLoss | undefined,
  configured: OnLoss,
  identity: Identity | null,
): OnLoss {
  if (requested === undefined || requested === configured) return configured
  const allowed = identity?.onLoss ?? lossPolicies.slice(lossPolicies.indexOf(configured))
  if (!allowed.includes(requested))
    throw new GatewayError(
      'permission',
      `${lossPolicyHeader}: your access does not allow '${requested}'. Allowed: ${allowed.join(', ')}.`,
      { param: lossPolicyHeader },
    )
  return requested
}

/** Returns the 400 for a request's losses: for a fatal loss always, for a warning if the policy is `reject`. Undefined: none. */
export function lossError(losses: readonly Loss[], policy: OnLoss): GatewayError | undefined {
  const worst =
    losses.find(({ severity }) => severity === 'fatal') ??
    (policy === 'reject' ? losses.find(({ severity }) => severity === 'warn') : undefined)
  if (worst === undefined) return undefined
  const param = worst.path.slice(1).replaceAll('/', '.')
  return new GatewayError(
    'invalid_request',
    `${param}: ${worst.detail}. The target model does not accept this part of the request.`,
    {
      param,
      code: 'unsupported_parameter',
    },
  )
}
