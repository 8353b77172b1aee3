import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Report, score } from '@modelgate/conformance'
import {
  checks,
  type Format,
  formatNames,
  formats,
  formatTitles,
  upstreamKey,
  upstreamOf,
} from '@modelgate/conformance/test-support'
import { cohere, createGateway, openai } from '@modelgate/core'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { createFakeProvider, listen, listenRealtime } from '@modelgate/testing'
import { table } from '../markdown-table.ts'

const token = 'client-token-of-the-document'
const titleOf: Readonly<Record<Format, string>> = formatTitles

/** Scores the gateway on a socket, with one model served by an upstream of this format and models for other operations. */
async function scored(upstream: Format): Promise<Report> {
  const provider = await listen(createFakeProvider({ apiKey: upstreamKey }))
  const realtime = await listenRealtime({ apiKey: upstreamKey })
  const gateway = createGateway({
    auth: (given) => (given === token ? { id: 'document' } : null),
    upstreams: {
      up: upstreamOf(upstream, provider.origin),
      openai: openai({ apiKey: upstreamKey, baseURL: provider.url }),
      cohere: cohere({ apiKey: upstreamKey, baseURL: provider.origin }),
      realtime: openai({ apiKey: upstreamKey, baseURL: realtime.url }),
    },
    models: {
      demo: 'up',
      'demo-embedding': 'openai',
      'demo-image': 'openai',
      'demo-transcribe': 'openai',
      'demo-speech': 'openai',
      'demo-rerank': 'cohere',
      'demo-realtime': 'realtime',
    },
    logger: false,
  })
  const server = createServer(nodeListener(gateway)).on('upgrade', nodeUpgrade(gateway))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    return await score({ url: `http://127.0.0.1:${port}/v1`, token, model: 'demo' })
  } finally {
    await gateway.close({ graceMs: 0 })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await Promise.all([provider.close(), realtime.close()])
  }
}

export type Scores = readonly (readonly [upstream: Format, report: Report])[]

/** The gateway's score for each upstream format. */
export async function ownScores(): Promise<Scores> {
  const scores: [Format, Report][] = []
  for (const upstream of formats) scores.push([upstream, await scored(upstream)])
  return scores
}

/** Returns the table of results by client format, with a column per upstream format. */
export function scoreTable(scores: Scores): string {
  const rows = formatNames.map((format) => [
    formatTitles[format],
    ...scores.map(([, report]) => {
      const share = report.formats.find((one) => one.format === format)
      const aside = share?.notServed ? `, ${share.notServed} not served` : ''
      return `${share?.passed ?? 0}/${share?.total ?? 0}${aside}`
    }),
  ])
  const total = scores.map(([, { passed, total, score: percent }]) => `**${passed}/${total}** (${percent} %)`)
  const head = ['client', ...scores.map(([upstream]) => `upstream: ${titleOf[upstream]}`)]
  return table(head, ...rows, ['**all**', ...total])
}

/** Returns the checks that did not pass, with reasons. Lines shared by two upstreams appear once. */
export function lackTable(scores: Scores): string {
  const rows = new Map<string, { cells: string[]; upstreams: string[] }>()
  for (const [upstream, { results }] of scores)
    for (const { name, verdict, why = '' } of results) {
      if (verdict === 'passed') continue
      const cells = [`\`${name}\``, verdict, why.replaceAll('|', '\\|')]
      const row = rows.get(cells.join()) ?? { cells, upstreams: [] }
      row.upstreams.push(titleOf[upstream])
      rows.set(cells.join(), row)
    }
  const order = [...rows.values()].sort(
    (one, other) => Number(other.cells[1] === 'failed') - Number(one.cells[1] === 'failed'),
  )
  return table(
    ['check', 'verdict', 'why', 'upstream'],
    ...order.map(({ cells, upstreams }) => [...cells, upstreams.join(', ')]),
  )
}

/** Returns the table of features, with their meaning and formats. */
export function checkTable(): string {
  const rows = new Map<string, { feature: string; proves: string; of: string[] }>()
  for (const { feature, proves, format } of checks) {
    const row = rows.get(feature + proves) ?? { feature, proves, of: [] }
    row.of.push(formatTitles[format])
    rows.set(feature + proves, row)
  }
  return table(
    ['feature', 'what a passed check proves', 'format'],
    ...[...rows.values()].map(({ feature, proves, of }) => [
      feature,
      proves,
      of.length === 4 ? 'all four formats' : of.join(', '),
    ]),
  )
}
