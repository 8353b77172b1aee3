import { keepUntilExpiry } from './access-token.ts'
import { secretProblem, typeName } from './check-options.ts'

/** A service account's key, a user's refresh token, a workload identity: the JSON that Google's tools write. */
export type GoogleCredentials = { readonly [field: string]: unknown }

export interface GoogleAccount {
  readonly keyFile?: string | undefined
  readonly credentials?: GoogleCredentials | undefined
}

/** Fields without which such credentials are of no use, with their environment variables where there are usual ones. */
const secretFields = {
  client_email: 'GOOGLE_CLIENT_EMAIL',
  private_key: 'GOOGLE_PRIVATE_KEY',
  client_id: undefined,
  client_secret: undefined,
  refresh_token: undefined,
} as const

/** Returns the problems of credentials that a configuration holds: fields that are present must have a value. */
export function googleCredentialProblems(credentials: GoogleCredentials | null): string[] {
  if (credentials === null) return []
  if (typeof credentials !== 'object' || Array.isArray(credentials))
    return [`credentials is ${typeName(credentials)}: give the content of a credentials file as an object`]
  return Object.entries(secretFields)
    .filter(([field]) => Object.hasOwn(credentials, field))
    .flatMap(([field, variable]) => secretProblem(`credentials.${field}`, credentials[field], { variable }))
}

const scope = 'https://www.googleapis.com/auth/cloud-platform'

/**
 * The headers of a call on behalf of a Google account; of the application default one, where none is given. The token is
 * kept until shortly before it expires. Rejects with the fix where google-auth-library is not installed, or finds nothing.
 */
export function googleHeaders(
  account: GoogleAccount,
): () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> {
  let client: ReturnType<typeof open> | undefined
  return keepUntilExpiry(async () => {
    client ??= open(account)
    try {
      const opened = await client
      // Beside the token, a user's own credentials say whose quota a call counts against.
      const value = Object.fromEntries(await opened.getRequestHeaders())
      if (value.authorization === undefined)
        throw new Error('google-auth-library gave no access token for the Vertex AI upstream')
      return { value, expiresAt: opened.credentials.expiry_date ?? undefined }
    } catch (cause) {
      // Nothing that failed is kept: credentials may be there with the next call.
      client = undefined
      throw cause
    }
  })
}

async function open({ keyFile, credentials }: GoogleAccount) {
  const GoogleAuth = await library()
  const auth = new GoogleAuth({
    scopes: scope,
    ...(keyFile === undefined ? {} : { keyFilename: keyFile }),
    ...(credentials === undefined ? {} : { credentials }),
  })
  return auth.getClient()
}

async function library() {
  // By name and within a try, so that bundlers take the package in where it is there and do without where it is not.
  try {
    const { GoogleAuth } = await import('#google-auth-library')
    if (GoogleAuth === undefined) throw new Error('This runtime cannot run google-auth-library.')
    return GoogleAuth
  } catch (cause) {
    throw new Error(
      "Vertex AI: google-auth-library is not installed, which finds Google's credentials. Install it (npm install google-auth-library), or give vertex() a token function or an apiKey",
      { cause },
    )
  }
}
