import {
  type AuthRequest,
  GatewayError,
  type Inbound,
  type Plugin,
  type PluginRoute,
  type Reply,
} from '@modelgate/core'
import { isThenable, settleWithin } from './base/async.ts'
import type { OwnerSettings, TokenSettings } from './contract/token.ts'
import { type OwnerManagement, unknownOwner } from './limits/owners.ts'
import type { TokenUsage, UsageQuery } from './limits/usage.ts'
import { type TokenManagement, type TokenUpdate, unknownToken } from './tokens/manage.ts'

/** Options of `tokens.routes`. */
export interface AdminOptions {
  /**
   * Returns whether a request may manage all tokens, by its method, path and headers. Called for each request. Anything but `true` rejects
   * the request with 403. A GatewayError that it throws is sent to the client. Any other error, and a promise that does not settle within
   * 30 s, is logged and becomes a 500.
   */
  authorize(request: AuthRequest): boolean | Promise<boolean>
  /** Path of the endpoints below the gateway's base path. Those of owners are at `<path>/owners`. Default: `/admin/tokens`. */
  readonly path?: string
}

/** The functions of `createTokens` that the endpoints call. */
export interface ManagedTokens extends TokenManagement {
  usage(id: string, query?: UsageQuery): Promise<TokenUsage>
  readonly owners: OwnerManagement
}

/** Milliseconds for `authorize`: longer than any session store needs. A later result is ignored. */
const authorizeMs = 30_000

type Params = Readonly<Record<string, string>>
type Handler = (inbound: Inbound, id: string) => Promise<Reply>

/** Creates the JSON endpoints to manage tokens. Only the responses of `issue` and `rotate` contain secrets. */
export function createAdminRoutes(tokens: ManagedTokens, options: AdminOptions): Plugin {
  // JavaScript callers may leave it out.
  const { authorize, path = '/admin/tokens' } = (options ?? {}) as Partial<AdminOptions>
  if (typeof authorize !== 'function')
    throw new TypeError(
      'tokens.routes needs `authorize`, a function that returns whether a request may manage tokens: { authorize: ({ header }) => … }',
    )
  if (!/^(\/[\w.~-]+)+$/.test(path))
    throw new TypeError(
      `tokens.routes: path is '${path}': it must start with '/', not end with one, and have no parameters`,
    )
  const route = (method: PluginRoute['method'], below: string, handler: Handler): PluginRoute => ({
    method,
    path: path + below,
    async handle(inbound: Inbound, params: Params) {
      const { method, path } = inbound
      const request = { method, path, header: (name: string) => inbound.header(name.toLowerCase()) }
      const result = authorize(request)
      const allowed = isThenable(result)
        ? await settleWithin(result, 'authorize of tokens.routes', authorizeMs)
        : result
      if (allowed !== true) throw new GatewayError('permission', 'You may not manage the tokens of this gateway.')
      return handler(inbound, params.id ?? '')
    },
  })
  const { owners } = tokens
  return {
    name: 'tokens-admin',
    routes: [
      route('POST', '', async (inbound) => {
        // `issue` validates the settings.
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
            ...(limit === undefined ? {} : { limit: limitOf(limit) }),
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
      // Needs no content type check: HTML forms cannot send DELETE.
      route('DELETE', '/{id}', async (_inbound, id) => reply(200, await tokens.revoke(id))),
      route('POST', '/{id}/rotate', async (inbound, id) => {
        const { graceMs } = await readFields(inbound, ['graceMs'])
        return reply(200, await tokens.rotate(id, graceMs === undefined ? {} : { graceMs: graceMs as number }))
      }),
      route('GET', '/{id}/usage', async (inbound, id) =>
        reply(200, await tokens.usage(id, readQuery(inbound, ['from', 'to']))),
      ),
      route('GET', '/owners', async (inbound) => {
        const { after, limit } = readQuery(inbound, ['after', 'limit'])
        return reply(
          200,
          await owners.list({
            ...(after === undefined ? {} : { after }),
            ...(limit === undefined ? {} : { limit: limitOf(limit) }),
          }),
        )
      }),
      route('GET', '/owners/{id}', async (inbound, owner) => {
        readQuery(inbound, [])
        const found = await owners.get(owner)
        if (found === undefined) throw unknownOwner(owner)
        return reply(200, found)
      }),
      // `set` validates the settings.
      route('PUT', '/owners/{id}', async (inbound, owner) =>
        reply(200, await owners.set(owner, (await readFields(inbound)) as OwnerSettings)),
      ),
      route('DELETE', '/owners/{id}', async (_inbound, owner) => {
        if (!(await owners.delete(owner))) throw unknownOwner(owner)
        return reply(200, { owner, deleted: true })
      }),
      route('GET', '/owners/{id}/usage', async (inbound, owner) =>
        reply(200, await owners.usage(owner, readQuery(inbound, ['from', 'to']))),
      ),
    ],
  }
}

const limitOf = (limit: string): number => (limit.trim() === '' ? Number.NaN : Number(limit))

const reply = (status: number, body: unknown): Reply => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  body: JSON.stringify(body),
})

/** Maximum bytes of a request body. */
const maxBodyBytes = 65_536

/**
 * Returns the fields of a JSON body; none if the body is empty.
 *
 * @throws GatewayError `unsupported_media_type`, `request_too_large`, `invalid_request` (with `param`).
 */
async function readFields(inbound: Inbound, allowed?: readonly string[]): Promise<Record<string, unknown>> {
  checkMediaType(inbound)
  const text = new TextDecoder().decode(await inbound.read(maxBodyBytes))
  if (text.trim() === '') return {}
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('invalid_request', 'The request body is not valid JSON.', { cause })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError('invalid_request', 'The request body must be a JSON object.')
  const fields = body as Record<string, unknown>
  if (allowed !== undefined) checkNames(Object.keys(fields), allowed, 'field')
  return fields
}

/** Returns the parameters of a query. Throws for unknown and repeated ones. */
function readQuery({ query }: Inbound, allowed: readonly string[]): Readonly<Record<string, string>> {
  const parameters = [...new URLSearchParams(query)]
  const names = parameters.map(([name]) => name)
  checkNames(names, allowed, 'query parameter')
  const repeated = names.find((name, at) => names.indexOf(name) !== at)
  if (repeated !== undefined)
    throw new GatewayError('invalid_request', `The query parameter '${repeated}' is repeated.`, { param: repeated })
  return Object.fromEntries(parameters)
}

/** Prevents cross-site requests: HTML forms of other sites send their visitors' cookies, but cannot send this content type. */
function checkMediaType(inbound: Inbound): void {
  const type = inbound.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/json') return
  throw new GatewayError(
    'unsupported_media_type',
    `Send 'content-type: application/json', even without a body${type ? `; this is '${type.slice(0, 100)}'` : ''}.`,
  )
}

function checkNames(names: readonly string[], allowed: readonly string[], kind: string): void {
  const unknown = names.find((name) => !allowed.includes(name))
  if (unknown === undefined) return
  const known = allowed.length === 0 ? 'This endpoint accepts none.' : `Known: ${allowed.join(', ')}.`
  throw new GatewayError('invalid_request', `Unknown ${kind} '${unknown.slice(0, 100)}'. ${known}`, {
    param: unknown.slice(0, 100),
  })
}
