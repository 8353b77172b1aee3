import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearest } from './did-you-mean.ts'
import { messageOf, UsageError } from './errors.ts'

/** Option declarations in the form of `parseArgs` of node:util. */
export type Options = NonNullable<ParseArgsConfig['options']>
/** Parsed option values by option name. */
export type Values = { [name: string]: string | boolean | (string | boolean)[] | undefined }

export const text = { type: 'string' } as const
export const flag = { type: 'boolean' } as const

/** Parses a command's options and positional arguments. Throws a UsageError that suggests the nearest option for an unknown one. */
export function readArgs(args: string[], options: Options, topic: string): { values: Values; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    return { values, positionals: positionals }
  } catch (error) {
    // parseArgs reads a value that begins with a dash as another option.
    const [, ambiguous] =
      /^Option '(?:-\w, )?(--[\w-]+)(?: <value>)?' argument is ambiguous/.exec(messageOf(error)) ?? []
    const value = ambiguous === undefined ? undefined : args[args.indexOf(ambiguous) + 1]
    if (value !== undefined && /^-[\d.]/.test(value))
      return readArgs(withJoinedValue(args, ambiguous as string), options, topic)
    const [, dashes = '', wrong = ''] = /^Unknown option '(--?)([^']*)'/.exec(messageOf(error)) ?? []
    if (wrong === '') throw new UsageError(firstSentence(messageOf(error)), topic)
    const near = nearest(wrong, Object.keys(options))
    throw new UsageError(
      `Unknown option '${dashes}${wrong}'.${near === undefined ? '' : ` Did you mean '--${near}'?`}`,
      topic,
    )
  }
}

/** Rewrites `--option -5` as `--option=-5`, so that the option's own check reports the value. */
function withJoinedValue(args: readonly string[], option: string): string[] {
  const at = args.indexOf(option)
  return [...args.slice(0, at), `${option}=${args[at + 1]}`, ...args.slice(at + 2)]
}

/** Drops the advice of parseArgs about arguments that begin with a dash. */
const firstSentence = (message: string): string => message.split('. ', 1)[0] ?? message

/** Returns the text of an option; undefined if the option is absent. */
export const textOf = (value: Values[string]): string | undefined => (typeof value === 'string' ? value : undefined)

/** @throws UsageError if there are positional arguments: the command accepts none */
export function rejectExtraArguments(words: readonly string[], topic: string): void {
  const [first] = words
  if (first !== undefined) throw new UsageError(`Unexpected argument '${first}' of '${topic}'.`, topic)
}
