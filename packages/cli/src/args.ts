import { type ParseArgsConfig, parseArgs } from 'node:util'
import { messageOf, UsageError } from './errors.ts'
import { nearest } from './near.ts'

/** Options as `parseArgs` of node:util declares them. */
export type Options = NonNullable<ParseArgsConfig['options']>
/** What was given for them. */
export type Values = { [name: string]: string | boolean | (string | boolean)[] | undefined }

export const text = { type: 'string' } as const
export const flag = { type: 'boolean' } as const

/** Reads a command's options and words. Throws a UsageError that names what was probably meant. */
export function readArgs(args: string[], options: Options, topic: string): { values: Values; words: string[] } {
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    return { values, words: positionals }
  } catch (error) {
    // parseArgs takes a value that begins with a dash for another option.
    const [, ambiguous] =
      /^Option '(?:-\w, )?(--[\w-]+)(?: <value>)?' argument is ambiguous/.exec(messageOf(error)) ?? []
    const value = ambiguous === undefined ? undefined : args[args.indexOf(ambiguous) + 1]
    if (value !== undefined && /^-[\d.]/.test(value))
      return readArgs(withJoinedValue(args, ambiguous as string), options, topic)
    const [, dashes = '', wrong = ''] = /^Unknown option '(--?)([^']*)'/.exec(messageOf(error)) ?? []
    if (wrong === '') throw new UsageError(firstSentence(messageOf(error)), topic)
    const near = nearest(wrong, Object.keys(options))
    throw new UsageError(
      `there is no option '${dashes}${wrong}'${near === undefined ? '' : `: did you mean '--${near}'?`}`,
      topic,
    )
  }
}

/** `--option -5` as `--option=-5`, so that the option itself can say what is wrong with the value. */
function withJoinedValue(args: readonly string[], option: string): string[] {
  const at = args.indexOf(option)
  return [...args.slice(0, at), `${option}=${args[at + 1]}`, ...args.slice(at + 2)]
}

/** parseArgs goes on about arguments that begin with a dash. */
const firstSentence = (message: string): string => message.split('. ', 1)[0] ?? message

/** An option's text; undefined where it was not given. */
export const textOf = (value: Values[string]): string | undefined => (typeof value === 'string' ? value : undefined)

/** @throws UsageError for words behind the options that the command does not take. */
export function noWords(words: readonly string[], topic: string): void {
  const [first] = words
  if (first !== undefined) throw new UsageError(`'${first}' is one word too many for ${topic}`, topic)
}
