import { GatewayError } from '../base/errors.ts'
import type { Identity, OnLoss } from '../config/identity.ts'
import type { Loss } from '../formats/ir.ts'
import type { Inbound } from '../http/inbound.ts'

/** From lenient to strict. */
export const lossPolicies: readonly OnLoss[] = ['ignore', 'warn', 'reject']

const header = 'modelgate-on-loss'

/**
 * The policy a call asks for by its header; undefined where it asks for none. Whether it may is known only with the target:
 * see `policyFor`. Throws for a word that is no policy.
 */
export function requestedLossPolicy(inbound: Inbound): OnLoss | undefined {
  const asked = inbound.header(header)?.trim().toLowerCase()
  if (asked === undefined || asked === '') return undefined
  const known = lossPolicies.find((policy) => policy === asked)
  if (known === undefined)
    throw new GatewayError(
      'invalid_request',
      `${header}: '${asked.slice(0, 50)}' is none of ${lossPolicies.join(', ')}.`,
      {
        param: header,
      },
    )
  return known
}

/**
 * The policy in force. Callers may always be stricter than the configuration; to be more lenient their identity must allow it.
 * Throws 403 `permission` where it does not.
 */
export function effectiveLossPolicy(asked: OnLoss | undefined, configured: OnLoss, identity: Identity | null): OnLoss {
  if (asked === undefined || asked === configured) return configured
  const allowed = identity?.onLoss ?? lossPolicies.slice(lossPolicies.indexOf(configured))
  if (!allowed.includes(asked))
    throw new GatewayError('permission', `${header}: this token may not ask for '${asked}'.`, { param: header })
  return asked
}

/** The 400 that a loss calls for: always for a fatal one, for a warning where the policy says so. */
export function lossError(losses: readonly Loss[], policy: OnLoss): GatewayError | undefined {
  const worst =
    losses.find(({ severity }) => severity === 'fatal') ??
    (policy === 'reject' ? losses.find(({ severity }) => severity === 'warn') : undefined)
  if (worst === undefined) return undefined
  const param = worst.path.slice(1).replaceAll('/', '.')
  return new GatewayError(
    'invalid_request',
    `${param}: ${worst.detail}. The model asked for cannot be given this part of the request.`,
    {
      param,
      code: 'unsupported_parameter',
    },
  )
}
