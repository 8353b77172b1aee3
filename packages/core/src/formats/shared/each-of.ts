import * as z from 'zod'
import { acceptorOf, answeredBy } from './accept.ts'

/**
 * An array of the given elements that is checked up to its first fault. zod's own array collects every one: a body of
 * some megabytes of wrong elements would cost seconds and gigabytes.
 *
 * @param error what the dialect's complaint calls the array, where it is none.
 */
export function eachOf(element: z.ZodType, error?: string) {
  const array = z.array(z.unknown(), error === undefined ? undefined : { error }).superRefine((items, context) => {
    for (const [index, item] of items.entries()) {
      const result = element.safeParse(item)
      if (result.success) continue
      for (const issue of result.error.issues)
        context.addIssue({ ...issue, path: [index, ...issue.path], input: undefined } as Parameters<
          typeof context.addIssue
        >[0])
      return
    }
  })
  return answeredBy(array, () => {
    const fits = acceptorOf(element)
    return (items) => items.every((item) => fits(item))
  })
}
