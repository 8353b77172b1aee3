import type { GatewayConfig } from '@modelgate/core'
import { readSettings } from '../config/settings.ts'
import { targetsOf } from '../config/targets.ts'
import { flag, readArgs, rejectExtraArguments, text, textOf } from '../terminal/args.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { didYouMean } from '../terminal/did-you-mean.ts'
import { UsageError } from '../terminal/errors.ts'
import { table } from '../terminal/format.ts'
import { pricesHelp } from './help.ts'

/** A target of the configuration. */
interface TargetPrice {
  /** Name for clients. */
  readonly name: string
  readonly upstream: string
  /** Name at the upstream. */
  readonly model: string
  /** `'any'`: the target accepts any name, so that only a price for `*` would cover it. */
  readonly price: 'known' | 'missing' | 'any'
}

/** Runs `modelgate prices check`: lists the models of the configuration that have no price. */
export async function prices(args: string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined) {
    context.out(pricesHelp)
    return 0
  }
  if (name !== 'check')
    throw new UsageError(`Unknown command 'prices ${name}'. ${didYouMean(name, ['check'])}`, 'prices')
  const { values, positionals: words } = readArgs(rest, { config: text, json: flag }, 'prices')
  rejectExtraArguments(words, 'prices check')
  const settings = await readSettings(context, { config: textOf(values.config) }, 'nothing')
  try {
    const targets = priceTargets(settings.gateway)
    const ok = targets.every(({ price }) => price !== 'missing')
    context.out(values.json === true ? JSON.stringify({ ok, targets }, null, 2) : reportText(targets))
    return ok ? 0 : 1
  } finally {
    await settings.resources.close()
  }
}

function priceTargets({ models, plugins = [] }: GatewayConfig): readonly TargetPrice[] {
  const sources = plugins.filter(({ priceOf }) => priceOf !== undefined)
  if (sources.length === 0)
    throw new Error('The server has no prices: set MODELGATE_PRICES=prices.json, or set `prices` in the configuration.')
  const hasPrice = (upstream: string, model: string): boolean =>
    sources.some(({ priceOf }) => priceOf?.({ upstream, model }) !== undefined)
  return Object.entries(models).flatMap(([name, route]) =>
    targetsOf(route).map(({ upstream, model = name }): TargetPrice => {
      const price = hasPrice(upstream, model) ? 'known' : model.includes('*') ? 'any' : 'missing'
      return { name, upstream, model, price }
    }),
  )
}

function reportText(targets: readonly TargetPrice[]): string {
  const listed = targets.filter(({ price }) => price !== 'known')
  const missing = listed.filter(({ price }) => price === 'missing').length
  if (listed.length === 0) return `All ${targets.length} targets have a price.`
  return [
    table(
      ['MODEL', 'UPSTREAM', 'NAME AT THE UPSTREAM', ''],
      listed.map(({ name, upstream, model, price }) => [
        name,
        upstream,
        model,
        price === 'missing' ? 'no price' : 'any name: only names in the table have a price',
      ]),
    ),
    '',
    `${missing} of ${targets.length} targets have no price. Add "name" or "upstream/name" of the upstream to the price table.`,
  ].join('\n')
}
