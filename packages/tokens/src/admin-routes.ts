import {
  type AuthRequest,
  GatewayError,
  type Inbound,
  type Plugin,
  type PluginRoute,
  type Reply,
} from '@modelgate/core'
import { isThenable, settleWithin } from './base/async.ts'
import type { TokenSettings } from './contract/token.ts'
import type { TokenUsage, UsageQuery } from './limits/usage.ts'
import { type TokenManagement, type TokenUpdate, unknownToken } from './tokens/manage.ts'

/** What `tokens.routes` takes: who may manage tokens, and where. */
export interface AdminOptions {
  /**
   * Who may manage all tokens: asked before each request, with its method, path and headers. Nothing but `true` lets it in
   * (else 403). A GatewayError it throws is sent to the client; any other error is a 500 and logged, and so is a promise that does not settle within 30 s.
   */
  authorize(request: AuthRequest): boolean | Promise<boolean>
  /** Below the gateway's base path. Default `/admin/tokens`. */
  readonly path?: string
}

/** What the endpoints do, from `createTokens`. */
export interface Administered extends TokenManagement {
  usage(id: string, query?: UsageQuery): Promise<TokenUsage>
}

/** Longer than any store of sessions needs. After it, an answer permits nothing any more. */
const authorizeMs = 30_000

type Params = Readonly<Record<string, string>>
type Handler = (inbound: Inbound, id: string) => Promise<Reply>

/** JSON endpoints to manage tokens. Secrets are in the answers of `issue` and `rotate`, and nowhere else. */
export function createRoutes(tokens: Administered, options: AdminOptions): Plugin {
  // From JavaScript nothing keeps a host from leaving it out.
  const { authorize, path = '/admin/tokens' } = (options ?? {}) as Partial<AdminOptions>
  if (typeof authorize !== 'function')
    throw new TypeError(
      'tokens.routes needs `authorize`, a function that says who may manage tokens: { authorize: ({ header }) => … }',
    )
  if (!/^(\/[\w.~-]+)+$/.test(path))
    throw new TypeError(
      `tokens.routes: path is '${path}': it begins with '/', does not end with one, and has no braces`,
    )
  const route = (method: PluginRoute['method'], below: string, handler: Handler): PluginRoute => ({
    method,
    path: path + below,
    async handle(inbound: Inbound, params: Params) {
      const { method, path: asked } = inbound
      const request = { method, path: asked, header: (name: string) => inbound.header(name.toLowerCase()) }
      const answer = authorize(request)
      const allowed = isThenable(answer)
        ? await settleWithin(answer, 'authorize of tokens.routes', authorizeMs)
        : answer
      if (allowed !== true) throw new GatewayError('permission', 'You may not manage the tokens of this gateway.')
      return handler(inbound, params.id ?? '')
    },
  })
  return {
    name: 'tokens-admin',
    routes: [
      route('POST', '', async (inbound) => {
        // What is no setting is found out by `issue`.
        const settings = (await readFields(inbound)) as TokenSettings
        return reply(201, await tokens.issue(settings))
      }),
      route('GET', '', async (inbound) => {
        const { owner, after, limit } = readQuery(inbound, ['owner', 'after', 'limit'])
        return reply(
          200,
          await tokens.list({
            ...(owner === undefined ? {} : { owner }),
            ...(after === undefined ? {} : { after }),
            ...(limit === undefined ? {} : { limit: limit.trim() === '' ? Number.NaN : Number(limit) }),
          }),
        )
      }),
      route('GET', '/{id}', async (inbound, id) => {
        readQuery(inbound, [])
        const token = await tokens.get(id)
        if (token === undefined) throw unknownToken(id)
        return reply(200, token)
      }),
      route('PATCH', '/{id}', async (inbound, id) => {
        const update = (await readFields(inbound)) as TokenUpdate
        return reply(200, await tokens.update(id, update))
      }),
      route('POST', '/{id}/revoke', async (inbound, id) => {
        await readFields(inbound, [])
        return reply(200, await tokens.revoke(id))
      }),
      // No form can send this method.
      route('DELETE', '/{id}', async (_inbound, id) => reply(200, await tokens.revoke(id))),
      route('POST', '/{id}/rotate', async (inbound, id) => {
        const { graceMs } = await readFields(inbound, ['graceMs'])
        return reply(200, await tokens.rotate(id, graceMs === undefined ? {} : { graceMs: graceMs as number }))
      }),
      route('GET', '/{id}/usage', async (inbound, id) =>
        reply(200, await tokens.usage(id, readQuery(inbound, ['from', 'to']))),
      ),
    ],
  }
}

const reply = (status: number, body: unknown): Reply => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  body: JSON.stringify(body),
})

/** Largest body in bytes. */
const bodyBytes = 65_536

/**
 * The fields of a request that changes something; no body is no fields.
 * Throws GatewayErrors: `unsupported_media_type`, `request_too_large`, `invalid_request` with `param`.
 */
export async function readFields(inbound: Inbound, allowed?: readonly string[]): Promise<Record<string, unknown>> {
  checkMediaType(inbound)
  const text = new TextDecoder().decode(await inbound.read(bodyBytes))
  if (text.trim() === '') return {}
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('invalid_request', 'The body is no JSON.', { cause })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError('invalid_request', 'The body is a JSON object.')
  const fields = body as Record<string, unknown>
  if (allowed !== undefined) checkNames(Object.keys(fields), allowed, 'field')
  return fields
}

/** The parameters of a query, each at most once. */
export function readQuery({ query }: Inbound, allowed: readonly string[]): Readonly<Record<string, string>> {
  const parameters = [...new URLSearchParams(query)]
  const names = parameters.map(([name]) => name)
  checkNames(names, allowed, 'query parameter')
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new GatewayError('invalid_request', `'${twice}' is given twice.`, { param: twice })
  return Object.fromEntries(parameters)
}

/** Forms of other sites can send anything but this, with the cookies of who looks at them. */
function checkMediaType(inbound: Inbound): void {
  const type = inbound.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/json') return
  throw new GatewayError(
    'unsupported_media_type',
    `Send 'content-type: application/json', also without a body${type ? `; this is '${type.slice(0, 100)}'` : ''}.`,
  )
}

function checkNames(names: readonly string[], allowed: readonly string[], what: string): void {
  const unknown = names.find((name) => !allowed.includes(name))
  if (unknown === undefined) return
  const known = allowed.length === 0 ? 'there is none here' : `${allowed.join(', ')} are known`
  throw new GatewayError('invalid_request', `There is no ${what} '${unknown.slice(0, 100)}': ${known}.`, {
    param: unknown.slice(0, 100),
  })
}
