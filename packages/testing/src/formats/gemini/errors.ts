import type { Json, JsonObject } from '../../base/json.ts'
import { type ErrorTable, errorTextFor, type WireError } from '../../wire/errors.ts'

const words = (type: string, message: string): { type: string; code: null; message: string } => ({
  type,
  code: null,
  message,
})

/** Google's error texts by status. */
export const geminiErrorTable: ErrorTable = {
  400: words('INVALID_ARGUMENT', 'Request contains an invalid argument.'),
  401: words(
    'UNAUTHENTICATED',
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  ),
  403: words('PERMISSION_DENIED', 'The caller does not have permission'),
  404: words('NOT_FOUND', 'Requested entity was not found.'),
  409: words('ABORTED', 'The operation was aborted.'),
  429: {
    ...words(
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.',
    ),
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.Help',
        links: [
          {
            description: 'Learn more about Gemini API quotas',
            url: 'https://ai.google.dev/gemini-api/docs/rate-limits',
          },
        ],
      },
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [
          {
            quotaMetric: 'generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count',
            quotaId: 'GenerateContentPaidTierInputTokensPerModelPerMinute',
            quotaValue: '1000000',
          },
        ],
      },
    ],
  },
  499: words('CANCELLED', 'The operation was cancelled.'),
  500: words(
    'INTERNAL',
    'An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  ),
  503: words('UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  504: words('DEADLINE_EXCEEDED', 'Deadline expired before operation could complete.'),
}

/** Returns an INVALID_ARGUMENT error. */
export const invalidArgument = (message: string): WireError => ({ status: 400, type: 'INVALID_ARGUMENT', message })

/**
 * Returns an error in Google's shape. The retry delay is in the body, as `RetryInfo`; a type that Google does not have becomes
 * the status's own type.
 */
export function geminiErrorBody(error: WireError, headers: Readonly<Record<string, string>> = {}): JsonObject {
  const own = /^[A-Z_]+$/.test(error.type ?? '') ? error.type : undefined
  const status = own ?? errorTextFor(geminiErrorTable, error.status).type
  const wait = headers['retry-after']
  const retry: Json[] =
    wait === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${wait}s` }]
  const details = [...(Array.isArray(error.details) ? error.details : []), ...retry]
  return {
    error: { code: error.status, message: error.message, status, ...(details.length > 0 ? { details } : {}) },
  }
}
