import type { GatewayConfig, Plugin } from '@modelgate/core'
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
  /** Day on which the price was read. Absent: unknown. */
  readonly asOf?: string
  /** The price was read more days ago than `--max-age` allows, or at an unknown time. */
  readonly old?: true
}

/** Runs `modelgate prices check`, which lists models without a price, or `prices list`, which prints a table of well-known models. */
export async function prices(args: string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined) {
    context.out(pricesHelp)
    return 0
  }
  if (name === 'list') {
    rejectExtraArguments(readArgs(rest, {}, 'prices').positionals, 'prices list')
    const { listedPrices } = await import('./list.ts')
    context.out(JSON.stringify(listedPrices(), null, 2))
    return 0
  }
  if (name !== 'check')
    throw new UsageError(`Unknown command 'prices ${name}'. ${didYouMean(name, ['check', 'list'])}`, 'prices')
  const { values, positionals: words } = readArgs(rest, { config: text, json: flag, 'max-age': text }, 'prices')
  rejectExtraArguments(words, 'prices check')
  const maxAge = daysOf(textOf(values['max-age']))
  const settings = await readSettings(context, { config: textOf(values.config) }, 'nothing')
  try {
    const today = Date.now()
    const targets = priceTargets(settings.gateway).map((target) =>
      target.price === 'known' && isOlder(target.asOf, maxAge, today) ? { ...target, old: true as const } : target,
    )
    const ok = targets.every(({ price, old }) => price !== 'missing' && old !== true)
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
  const find = (upstream: string, model: string): ReturnType<NonNullable<Plugin['priceOf']>> => {
    for (const { priceOf } of sources) {
      const price = priceOf?.({ upstream, model })
      if (price !== undefined) return price
    }
    return undefined
  }
  return Object.entries(models).flatMap(([name, route]) =>
    targetsOf(route).map(({ upstream, model = name }): TargetPrice => {
      const found = find(upstream, model)
      const price = found !== undefined ? 'known' : model.includes('*') ? 'any' : 'missing'
      return { name, upstream, model, price, ...(found?.asOf === undefined ? {} : { asOf: found.asOf }) }
    }),
  )
}

const dayMs = 86_400_000

/** Reads the value of `--max-age`. */
function daysOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const days = Number(value)
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(days))
    throw new UsageError(`--max-age is '${value}': write a number of days, such as 90`, 'prices')
  return days
}

const isOlder = (asOf: string | undefined, maxAge: number | undefined, today: number): boolean =>
  maxAge !== undefined && (asOf === undefined || today - Date.parse(asOf) > (maxAge + 1) * dayMs)

function reportText(targets: readonly TargetPrice[]): string {
  const listed = targets.filter(({ price, old }) => price !== 'known' || old === true)
  const missing = listed.filter(({ price }) => price === 'missing').length
  const old = listed.filter((target) => target.old === true).length
  if (listed.length === 0) return `All ${targets.length} targets have a price.`
  return [
    table(
      ['MODEL', 'UPSTREAM', 'NAME AT THE UPSTREAM', ''],
      listed.map(({ name, upstream, model, price, asOf }) => [
        name,
        upstream,
        model,
        price === 'missing'
          ? 'no price'
          : price === 'any'
            ? 'any name: only names in the table have a price'
            : asOf === undefined
              ? 'price without a date'
              : `price of ${asOf}`,
      ]),
    ),
    '',
    ...(old === 0
      ? []
      : [
          `${old} of ${targets.length} prices are too old. Check them at their source, and set \`asOf\` in the price table.`,
        ]),
    `${missing} of ${targets.length} targets have no price. Add "name" or "upstream/name" of the upstream to the price table.`,
  ].join('\n')
}
