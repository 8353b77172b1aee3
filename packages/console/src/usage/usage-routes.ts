import { pages } from 'virtual:console-assets'
import type { AuthRequest, PluginRoute, Reply } from '@modelgate/core'
import { checkAuthorize, requestOf, unauthorized } from '../authorization.ts'
import { invalidParameter, readQuery } from '../queries.ts'
import { csvReply, dataReply, subpage } from '../replies.ts'
import { usageCsv } from './usage-csv.ts'
import type { UsageOptions, UsageTokens } from './usage-tokens.ts'

const tokensPath = '/console/api/tokens'
const filters = ['from', 'to', 'token', 'model'] as const

/** Creates the pages of usage and tokens, and their APIs. */
export function createUsageRoutes(options: UsageOptions): readonly PluginRoute[] {
  const { authorize, tokens } = options
  checkAuthorize(authorize, 'usage', 'read the usage of all tokens and manage them')
  checkTokens(tokens)
  const check = async (request: AuthRequest): Promise<true> => {
    if ((await authorize(request)) !== true) throw unauthorized('Usage and tokens')
    return true
  }
  return [
    { method: 'GET', path: '/console/usage', handle: subpage(pages.usage, 'usage') },
    { method: 'GET', path: '/console/tokens', handle: subpage(pages.tokens, 'tokens') },
    {
      method: 'GET',
      path: '/console/api/usage',
      async handle(inbound): Promise<Reply> {
        await check(requestOf(inbound))
        const query = readQuery(inbound, [...filters, 'format'])
        const format = query.get('format') ?? 'json'
        if (format !== 'json' && format !== 'csv')
          throw invalidParameter('format', `Invalid format '${format.slice(0, 20)}': use 'json' or 'csv'.`)
        // Forms send empty fields.
        const given = filters.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))
        const report = await tokens.report(Object.fromEntries(given), { signal: inbound.signal })
        return format === 'csv'
          ? csvReply(usageCsv(report), `modelgate-usage-${report.from}-to-${report.to}.csv`)
          : dataReply(report)
      },
    },
    ...(tokens.routes({ authorize: check, path: tokensPath }).routes ?? []),
  ]
}

/** @throws TypeError if JavaScript callers pass another object than that of `createTokens` */
function checkTokens(tokens: UsageTokens | undefined): void {
  if (typeof tokens?.report !== 'function' || typeof tokens.routes !== 'function')
    throw new TypeError(
      'consolePages: usage needs `tokens`, the result of createTokens of @modelgate/tokens: { authorize, tokens }',
    )
}
