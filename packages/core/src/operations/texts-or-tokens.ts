import * as z from 'zod'
import type { Json } from '../base/json/types.ts'

const isText = (item: unknown): boolean => typeof item === 'string'
const isToken = (item: unknown): boolean => Number.isSafeInteger(item) && Number(item) >= 0
const isTokens = (item: unknown): boolean => Array.isArray(item) && item.length > 0 && item.every(isToken)

const forms = 'one of a string, an array of strings, an array of integers, or an array of integer arrays'

/** Returns the check for all items of a list, by its first item. */
const kindOf = (first: unknown) => [isText, isToken, isTokens].find((fits) => fits(first))

/**
 * Accepts a text, texts, tokens or lists of tokens. Stops at the first fault: a union would try each form on thousands of items and keep
 * every complaint.
 *
 * @param leastText minimum of characters of a single text
 */
export const textsOrTokens = (leastText: number) =>
  z
    .custom<Json>((value) => value !== undefined)
    .superRefine((input, context) => {
      if (typeof input === 'string') {
        if (input.length < leastText)
          context.addIssue({ code: 'too_small', minimum: leastText, origin: 'string', input })
      } else if (Array.isArray(input) && input.length === 0) {
        context.addIssue({ code: 'too_small', minimum: 1, origin: 'array', input })
      } else if (!Array.isArray(input)) {
        context.addIssue({ code: 'invalid_union', errors: [], message: forms, input })
      } else {
        const fits = kindOf(input[0])
        const at = fits === undefined ? 0 : input.findIndex((item) => !fits(item))
        if (at >= 0)
          context.addIssue({ code: 'invalid_union', errors: [], message: forms, path: [at], input: input[at] })
      }
    })
