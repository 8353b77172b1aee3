import type { Answer, Ask } from '../client.ts'
import { readStream } from '../judge.ts'

/** Text of every valid answer. */
const said = 'one two three'

/** Returns the error in an answer that should be whole, or undefined. */
export function notWhole({ client, stream }: Pick<Ask, 'client' | 'stream'>, answer: Answer): string | undefined {
  if (answer.status === 0) return `no answer: ${answer.broken}`
  if (answer.status !== 200) return `answered ${answer.status}: ${answer.text.slice(0, 120)}`
  if (answer.broken !== undefined) return `broken off: ${answer.broken}`
  if (stream !== true) return answer.text.includes(said) ? undefined : `another answer: ${answer.text.slice(0, 120)}`
  const { successes, errors, text } = readStream(client, answer.text)
  if (errors.length > 0) return 'an error in the stream'
  if (successes.length === 0) return 'a stream without an end'
  return text === said ? undefined : `a stream that says '${text.slice(0, 60)}'`
}
