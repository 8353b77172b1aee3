import type { GatewayConfig, ModelRoute, Target } from '@modelgate/core'
import { targetsOf } from '../config/targets.ts'
import { table } from '../table.ts'

/** Which models go where, and what is there. */
export function routesTable({ models, upstreams }: Pick<GatewayConfig, 'models' | 'upstreams'>): string {
  const groups = new Map<string, string[]>()
  for (const [name, route] of Object.entries(models)) {
    const where = whereOf(route)
    groups.set(where, [...(groups.get(where) ?? []), name])
  }
  const rows = [...groups].flatMap(([where, names]) => wrapped(names).map((line, at) => [line, at === 0 ? where : '']))
  return [
    table(['MODELS', 'UPSTREAM'], rows),
    table(
      ['UPSTREAM', 'ADDRESS', 'SPEAKS'],
      Object.entries(upstreams).map(([name, { baseURL, formats, operations = {} }]) => [
        name,
        new URL(baseURL).host,
        [...Object.keys(formats), ...(Object.keys(formats).length === 0 ? Object.keys(operations) : [])].join(', '),
      ]),
    ),
  ].join('\n\n')
}

/** A route in words: `groq (llama-3.3-70b-versatile), then openai`. */
function whereOf(route: ModelRoute): string {
  const named = ({ upstream, model }: Target): string =>
    model === undefined || model.includes('*') ? upstream : `${upstream} (${model})`
  const targets = targetsOf(route)
  const tiers = new Map<number, string[]>()
  for (const target of targets)
    tiers.set(target.priority ?? 0, [...(tiers.get(target.priority ?? 0) ?? []), named(target)])
  const strategy = typeof route === 'object' && 'targets' in route ? route.strategy : undefined
  const inOrder = (strategy ?? 'order') === 'order' && targets.every(({ weight }) => weight === undefined)
  return [...tiers]
    .sort(([a], [b]) => a - b)
    .map(([, names]) => names.join(inOrder ? ', then ' : ' or '))
    .join(', then ')
}

const widest = 72

/** Names in lines that a terminal holds. */
function wrapped(names: readonly string[]): string[] {
  const lines: string[] = []
  for (const name of names) {
    const last = lines.at(-1)
    if (last === undefined || last.length + name.length + 2 > widest) lines.push(name)
    else lines[lines.length - 1] = `${last}, ${name}`
  }
  return lines.map((line, at) => (at < lines.length - 1 ? `${line},` : line))
}
