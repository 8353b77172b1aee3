/** Express 4 in addition to Express 5: the used API is the same, and its own types would conflict. */
declare module 'express4' {
  import type express from 'express'

  const express4: typeof express
  export default express4
}
