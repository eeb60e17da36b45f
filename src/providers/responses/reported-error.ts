/** An error that came as an event of a stream, put into the words by which failures are classified. */
import { lookUp, record, text } from '../reading.ts';

/** Codes of this wire alone, as codes that every wire shares. */
const SHARED_CODE: Readonly<Record<string, string>> = {
  // https://platform.openai.com/docs/api-reference/responses/object#responses/object-error
  invalid_prompt: 'invalid_request_error',
  previous_response_not_found: 'invalid_request_error',
  data_residency_mismatch: 'invalid_request_error',
  bio_policy: 'content_policy_violation',
  image_content_policy_violation: 'content_policy_violation',
  // https://openrouter.ai/docs/api_reference/errors-and-debugging#typed-error-codes
  invalid_request: 'invalid_request_error',
  unprocessable: 'invalid_request_error',
  precondition_failed: 'invalid_request_error',
  max_tokens_exceeded: 'invalid_request_error',
  not_found: 'not_found_error',
  authentication: 'authentication_error',
  permission_denied: 'permission_error',
  payment_required: 'billing_error',
  provider_overloaded: 'overloaded_error',
  provider_unavailable: 'overloaded_error',
  token_limit_exceeded: 'context_length_exceeded',
  string_too_long: 'context_length_exceeded',
  payload_too_large: 'context_length_exceeded',
  refusal: 'content_policy_violation',
};

/** Thrown by the reader at the event; the exchange makes it a failure. */
export class ReportedError extends Error {
  override readonly name = 'ReportedError';
  readonly error: unknown;

  constructor(error: unknown) {
    super('The provider reported an error inside the stream.');
    this.error = error;
  }
}

/**
 * OpenRouter folds many errors into one code and names the error itself in `error_type`:
 * https://openrouter.ai/docs/api_reference/responses/error-handling
 */
export function inSharedWords(error: unknown): unknown {
  const fields = record(error);
  const code = text(fields?.error_type) ?? text(fields?.code);
  return code === null ? error : { ...fields, code: sharedCode(code) };
}

function sharedCode(code: string): string {
  // What is wrong with an image is the request's fault, under a dozen names.
  return lookUp(SHARED_CODE, code) ?? (code.includes('image') ? 'invalid_request_error' : code);
}
