import { GatewayError, type Inbound } from '@modelgate/core'

/**
 * Returns the parameters of a query.
 *
 * @throws GatewayError `invalid_request` for unknown and repeated parameters
 */
export function readQuery({ query }: Inbound, allowed: readonly string[]): URLSearchParams {
  const parameters = new URLSearchParams(query)
  const names = [...parameters.keys()]
  const unknown = names.find((name) => !allowed.includes(name))
  if (unknown !== undefined)
    throw invalidParameter(
      unknown.slice(0, 100),
      `Unknown query parameter '${unknown.slice(0, 100)}'. Known: ${allowed.join(', ')}.`,
    )
  const repeated = names.find((name, at) => names.indexOf(name) !== at)
  if (repeated !== undefined) throw invalidParameter(repeated, `The query parameter '${repeated}' is repeated.`)
  return parameters
}

export const invalidParameter = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })
