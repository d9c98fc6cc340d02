import com.fasterxml.jackson.databind.DeserializationFeature;
import emberdice.ApiClient;
import emberdice.ApiException;
import emberdice.api.TableApi;
import emberdice.model.OpenRequest;
import emberdice.model.OpenedSession;
import emberdice.model.TablePoolRoll;
import emberdice.model.TableRollRequest;
import java.util.List;

/** A roll at a table with a client that a third family of generators has made; what came of it is printed. */
public class Witness {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        // This client tells a roll and its public form apart by the members that the other does not know.
        client.setObjectMapper(ApiClient.createDefaultObjectMapper()
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES));
        OpenRequest friday = new OpenRequest().name("Friday").addCharactersItem("Zoé");
        OpenedSession opened = new TableApi(client).openSession(null, null, null, null, null, null, friday);

        String token = opened.getTokens().getPlayer();
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
        TablePoolRoll roll = rolled(new TableApi(client), opened.getId(), "zoe");
        System.out.println(roll.getCharacterName() + " " + roll.getOutcome().getValue() + " " + roll.getSuccesses());
        try {
            // The key belongs to the first roll.
            rolled(new TableApi(client), opened.getId(), "nobody");
        } catch (ApiException refused) {
            System.out.println(refused.getCode());
        }
    }

    static TablePoolRoll rolled(TableApi table, String session, String character) throws ApiException {
        TableRollRequest pool = new TableRollRequest().base(2).faces(List.of(5, 1));
        return table.rollForCharacter(session, character, null, null, null, null, null, "once", null, pool)
                .getTablePoolRoll();
    }
}
