import type { GatewayConfig, ModelRoute, Target } from '@modelgate/core'
import { targetsOf } from '../config/targets.ts'
import { table } from '../terminal/format.ts'

/** Returns the tables of model routes and upstreams. */
export function routesTable({ models, upstreams }: Pick<GatewayConfig, 'models' | 'upstreams'>): string {
  const groups = new Map<string, string[]>()
  for (const [name, route] of Object.entries(models)) {
    const where = describeRoute(route)
    groups.set(where, [...(groups.get(where) ?? []), name])
  }
  const rows = [...groups].flatMap(([where, names]) => wrapped(names).map((line, at) => [line, at === 0 ? where : '']))
  return [
    table(['MODELS', 'UPSTREAM'], rows),
    table(
      ['UPSTREAM', 'ADDRESS', 'FORMATS'],
      Object.entries(upstreams).map(([name, { baseURL, formats, operations = {} }]) => [
        name,
        new URL(baseURL).host,
        [...Object.keys(formats), ...(Object.keys(formats).length === 0 ? Object.keys(operations) : [])].join(', '),
      ]),
    ),
  ].join('\n\n')
}

/** Describes a route: `groq (llama-3.3-70b-versatile), then openai`. */
function describeRoute(route: ModelRoute): string {
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

const maxWidth = 72

/** Joins names into lines of limited width. */
function wrapped(names: readonly string[]): string[] {
  const lines: string[] = []
  for (const name of names) {
    const last = lines.at(-1)
    if (last === undefined || last.length + name.length + 2 > maxWidth) lines.push(name)
    else lines[lines.length - 1] = `${last}, ${name}`
  }
  return lines.map((line, at) => (at < lines.length - 1 ? `${line},` : line))
}
